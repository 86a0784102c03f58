// GGUF against the gguf package: blocks of every type, and the family checkpoints under that
// package's names, whole or split.
#include <gtest/gtest.h>

#include "files/block_decode.h"
#include "files/model_files.h"
#include "golden/golden_files.h"
#include "model/load_quantised.h"

namespace cairn::test {
namespace {

class GgufBlocks : public ::testing::TestWithParam<FileType> {};

TEST_P(GgufBlocks, decode_as_the_gguf_package_does) {
  const SafetensorsFile golden(golden_path("gguf/blocks.safetensors"));
  const std::string name(name_of(GetParam()));
  const TensorInfo& info = golden.require(name + ".blocks");
  std::vector<std::byte> blocks(static_cast<size_t>(info.bytes));
  golden.read_bytes(info, 0, blocks);
  const std::vector<float> wanted = read_values(golden, name + ".values");
  std::vector<float> values(wanted.size());
  decode_blocks(GetParam(), blocks.data(), static_cast<int64_t>(wanted.size()), values.data());
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(values[i], wanted[i]) << name << " " << i;
}

INSTANTIATE_TEST_SUITE_P(types, GgufBlocks,
                         ::testing::Values(FileType::q4_0, FileType::q4_1, FileType::q5_0,
                                           FileType::q5_1, FileType::q8_0, FileType::q4_k,
                                           FileType::q5_k, FileType::q6_k),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

struct GgufCase {
  const char* family;
  const char* file;
};

class GgufFamily : public ::testing::TestWithParam<GgufCase> {
 protected:
  std::string path() const { return golden_path(std::string("gguf/") + GetParam().file); }
  TinyGolden golden_{std::string("families/") + GetParam().family};
};

TEST_P(GgufFamily, tells_the_configuration_of_the_checkpoint) {
  const ModelConfig got = parse_model_config(read_config(path())), &want = golden_.config;
  EXPECT_EQ(got.num_parameters(), want.num_parameters());
  EXPECT_EQ(got.head_dim, want.head_dim);
  EXPECT_EQ(got.rotary_width(), want.rotary_width());
  EXPECT_EQ(got.tied_embeddings, want.tied_embeddings);
  EXPECT_EQ(got.head_norms, want.head_norms);
  EXPECT_EQ(got.fused_projections, want.fused_projections);
  EXPECT_EQ(got.gate, want.gate);
  EXPECT_EQ(got.norm_offset, want.norm_offset);
  EXPECT_EQ(got.attention_softcap, want.attention_softcap);
  EXPECT_EQ(got.logit_softcap, want.logit_softcap);
  EXPECT_EQ(got.rms_epsilon, want.rms_epsilon);
  EXPECT_EQ(got.local_rope_theta, want.local_rope_theta);
  for (const int64_t positions : {10, 1000}) {
    const RotarySpectrum one = got.spectrum(positions), other = want.spectrum(positions);
    EXPECT_EQ(one.frequencies, other.frequencies);
    EXPECT_EQ(one.magnitude, other.magnitude);
  }
}

TEST_P(GgufFamily, has_the_values_of_the_checkpoint) {
  const ModelFiles files = open_model(path());
  EXPECT_EQ(files.weights->tensors().size(), golden_.model.tensors().size());
  std::vector<std::byte> scratch(kReadScratchBytes);
  for (const TensorInfo& wanted : golden_.model.tensors()) {
    const TensorInfo& info = files.weights->require(wanted.name);
    ASSERT_EQ(info.shape, wanted.shape) << wanted.name;
    std::vector<float> values(static_cast<size_t>(info.shape.elements()));
    files.weights->read(
        info, View(reinterpret_cast<std::byte*>(values.data()), DType::f32, info.shape), scratch);
    const std::vector<float> want = read_values(golden_.model, wanted.name);
    for (size_t i = 0; i < want.size(); ++i)
      // A norm of Gemma went through 1 + w in f32.
      ASSERT_NEAR(values[i], want[i], info.shift != 0 ? 0x1p-23 : 0) << wanted.name << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(families, GgufFamily,
                         ::testing::Values(GgufCase{"qwen3", "qwen3.gguf"},
                                           GgufCase{"gemma2", "gemma2-00001-of-00002.gguf"},
                                           GgufCase{"gemma3", "gemma3.gguf"},
                                           GgufCase{"phi3", "phi3.gguf"}),
                         [](const auto& tested) { return std::string(tested.param.family); });

}  // namespace
}  // namespace cairn::test
