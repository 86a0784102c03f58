// One model whose tensors are stored as F32, F16 and BF16 in turn is the same model.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <random>

#include "golden/golden_files.h"
#include "numeric/bfloat16.h"
#include "support/gradient_run.h"

namespace cairn::test {
namespace {

// Of a number that f16 holds.
uint16_t to_f16(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  const int biased = exponent - 1 + 15;
  const auto mantissa = static_cast<uint32_t>(biased > 0 ? std::ldexp(fraction, 11)
                                                         : std::ldexp(fraction, 11 + biased - 1));
  const uint32_t bits = biased > 0 ? static_cast<uint32_t>(biased - 1) * 1024 + mantissa : mantissa;
  return static_cast<uint16_t>(bits | (value < 0 ? 0x8000u : 0u));
}

FileType type_of(size_t index) {
  constexpr FileType kTypes[] = {FileType::f32, FileType::f16, FileType::bf16};
  return kTypes[index % 3];
}

std::vector<std::byte> stored(const std::vector<float>& values, FileType type) {
  std::vector<std::byte> bytes;
  for (const float value : values) {
    const auto add = [&](const auto& number) {
      const auto* begin = reinterpret_cast<const std::byte*>(&number);
      bytes.insert(bytes.end(), begin, begin + sizeof(number));
    };
    if (type == FileType::f32) add(value);
    if (type == FileType::bf16) add(to_bf16(value));
    if (type != FileType::f16) continue;
    EXPECT_EQ(f16_to_float(to_f16(value)), value) << "the checkpoint must have numbers of f16";
    add(to_f16(value));
  }
  return bytes;
}

TEST(MixedTypes, give_the_loss_and_the_gradients_of_one_type) {
  const TinyGolden golden("families/qwen3");
  const auto path = std::filesystem::temp_directory_path() /
                    ("cairn_mixed_" + std::to_string(std::random_device()()) + ".safetensors");
  std::vector<TensorSpec> specs;
  const std::vector<TensorInfo>& tensors = golden.model.tensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    specs.push_back({tensors[i].name, type_of(i), tensors[i].shape});
  SafetensorsWriter writer(path.string(), specs, {{"format", "pt"}});
  for (size_t i = 0; i < tensors.size(); ++i)
    writer.append(tensors[i].name, stored(read_values(golden.model, tensors[i].name), type_of(i)));
  writer.finish();

  const auto backend = open_backend("cpu", 2);
  GradientRun run;
  run.spec.config = golden.config;
  run.spec.activation = run.spec.frozen_storage = DType::f32;
  run.micro_batches = {golden.batch()};
  run.weights = &golden.model;
  const GradientResult one = run_gradients(run, *backend);
  const SafetensorsFile mixed(path.string());
  run.weights = &mixed;
  const GradientResult other = run_gradients(run, *backend);
  EXPECT_EQ(one.loss, other.loss);
  ASSERT_EQ(one.gradients.size(), other.gradients.size());
  for (size_t i = 0; i < one.gradients.size(); ++i)
    EXPECT_EQ(one.gradients[i].values, other.gradients[i].values) << one.gradients[i].name;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cairn::test
