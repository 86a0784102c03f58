// NF4 against bitsandbytes: codes, scales and values of whole tensors, and the logits of
// checkpoints that it quantised, as transformers computes them.
#include <gtest/gtest.h>

#include <cmath>

#include "files/model_files.h"
#include "golden/golden_files.h"
#include "model/generator.h"
#include "model/load_quantised.h"
#include "numeric/dynamic_map.h"
#include "plan/rehearse.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

// Tensors of one safetensors file.
class Golden {
 public:
  explicit Golden(const std::string& name) : file_(golden_path(name)) {}

  const TensorInfo& info(const std::string& name) const { return file_.require(name); }
  bool has(const std::string& name) const { return file_.find(name); }
  std::vector<uint8_t> bytes(const std::string& name) const {
    std::vector<uint8_t> bytes(static_cast<size_t>(info(name).bytes));
    file_.read_bytes(info(name), 0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  std::vector<float> floats(const std::string& name) const {
    std::vector<float> values(static_cast<size_t>(info(name).shape.elements()));
    std::vector<std::byte> scratch(static_cast<size_t>(kReadScratchBytes));
    file_.read(info(name),
               View(reinterpret_cast<std::byte*>(values.data()), DType::f32,
                    {static_cast<int64_t>(values.size())}),
               scratch);
    return values;
  }
  std::vector<int32_t> ids(const std::string& name) const {
    std::vector<int64_t> wide(static_cast<size_t>(info(name).shape.elements()));
    file_.read_bytes(info(name), 0, std::as_writable_bytes(std::span(wide)));
    return {wide.begin(), wide.end()};
  }

 private:
  SafetensorsFile file_;
};

View view_of(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()),
          DType::f32,
          {static_cast<int64_t>(values.size())}};
}

struct Quantised {
  std::vector<uint8_t> codes;
  std::vector<float> absmax;
};

Quantised quantise(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  Quantised result;
  result.codes.resize((values.size() + 1) / 2);
  result.absmax.resize((values.size() + kNf4Block - 1) / kNf4Block);
  open_backend("cpu", 2)->kernels().quantise_nf4(
      {}, view_of(values), kNf4Block,
      {reinterpret_cast<std::byte*>(result.codes.data()), DType::u4, {count}},
      view_of(result.absmax));
  return result;
}

constexpr const char* kTensors[] = {"normal_96x64",     "normal_96x192", "float32_24x64",
                                    "straddling_10x40", "odd_5x7",       "zero_block_4x64",
                                    "formula_1x64"};

TEST(Nf4Golden, codes_and_absmax_equal_bitsandbytes) {
  const Golden golden("nf4/blocks.safetensors");
  for (const std::string name : kTensors) {
    SCOPED_TRACE(name);
    const Quantised mine = quantise(golden.floats(name + ".weight"));
    EXPECT_EQ(mine.absmax, golden.floats(name + ".absmax"));
    EXPECT_EQ(mine.codes, golden.bytes(name + ".codes"));
  }
}

// bitsandbytes' CPU code compares with the exact middles of f32, its CUDA code with literals that
// differ in the last places: only a value that close to one may differ, and by one code.
TEST(Nf4Golden, values_beside_a_threshold_differ_by_one_code_at_most) {
  const Golden golden("nf4/blocks.safetensors");
  const std::vector<uint8_t> mine = quantise(golden.floats("midpoints_1x64.weight")).codes;
  const std::vector<uint8_t> theirs = golden.bytes("midpoints_1x64.codes");
  ASSERT_EQ(mine.size(), theirs.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_LE(std::abs((mine[i] >> 4) - (theirs[i] >> 4)), 1) << i;
    EXPECT_LE(std::abs((mine[i] & 15) - (theirs[i] & 15)), 1) << i;
  }
}

TEST(Nf4Golden, second_level_equals_the_rule_of_bitsandbytes) {
  const Golden golden("nf4/blocks.safetensors");
  for (const std::string name : kTensors) {
    SCOPED_TRACE(name);
    std::vector<float> absmax = golden.floats(name + ".absmax");
    std::vector<float> table = golden.floats("dynamic.table");
    const DynamicMap& map = signed_dynamic_map();
    for (size_t i = 0; i < table.size(); ++i)
      EXPECT_NEAR(map[i], table[i], 4 * unit_roundoff(DType::f32) * std::abs(table[i]));
    std::vector<uint8_t> codes(absmax.size());
    std::vector<float> nested((absmax.size() + kNestedBlock - 1) / kNestedBlock), offset(1);
    open_backend("cpu", 2)->kernels().nest_absmax({}, view_of(absmax), view_of(table),
                                                  {reinterpret_cast<std::byte*>(codes.data()),
                                                   DType::u8,
                                                   {static_cast<int64_t>(codes.size())}},
                                                  view_of(nested), view_of(offset));
    EXPECT_EQ(codes, golden.bytes(name + ".nested.absmax_nearest"));
    const std::vector<float> want = golden.floats(name + ".nested.nested_absmax");
    const float mean = golden.floats(name + ".nested.offset")[0];
    EXPECT_NEAR(offset[0], mean, tolerance(DType::f32, 2) * std::abs(mean));
    for (size_t i = 0; i < nested.size(); ++i)
      EXPECT_NEAR(nested[i], want[i], tolerance(DType::f32, 2) * (std::abs(mean) + want[i]));
  }
}

class QuantisedCheckpoint : public ::testing::TestWithParam<const char*> {};

// The logits of every position, one token at a time.
TEST_P(QuantisedCheckpoint, logits_equal_transformers) {
  const std::string folder = std::string("nf4/") + GetParam();
  const ModelFiles files = open_model(golden_path(folder));
  const Golden golden(folder + "/golden.safetensors");
  const std::vector<int32_t> ids = golden.ids("ids");
  GeneratorSpec spec;
  spec.model.config = parse_model_config(files.config);
  spec.model.trains = false;
  spec.model.activation = DType::f32;
  match_quantised_weights(*files.weights, spec.model);
  spec.capacity = static_cast<int64_t>(ids.size());
  spec.piece = 1;
  const auto backend = open_backend("cpu", 2);
  const Rehearsal rehearsal = rehearse_generation(spec, backend->profile());
  Ledger ledger;
  Arena arena(backend->device(), ledger, rehearsal.layout);
  Generator generator(*backend, arena, spec);
  generator.load(files.weights.get(), nullptr);
  std::vector<float> logits;
  for (size_t t = 0; t < ids.size(); ++t) {
    generator.pass(std::span(ids).subspan(t, 1));
    logits.insert(logits.end(), generator.logits().begin(), generator.logits().end());
  }
  const ModelConfig& config = spec.model.config;
  EXPECT_LT(
      relative_error(logits, golden.floats("logits")),
      6 * static_cast<double>(config.num_layers) * tolerance(DType::f32, config.intermediate));
}

INSTANTIATE_TEST_SUITE_P(bitsandbytes, QuantisedCheckpoint,
                         ::testing::Values("tiny_llama_double", "tiny_llama_skip", "tiny_llama_fp4",
                                           "tiny_llama_storage"));

}  // namespace
}  // namespace cairn::test
