// What a configuration says of weights in 4 bits, as a plan without any files goes by it.
#include "model/quantisation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/model.h"

namespace cairn::test {
namespace {

std::vector<std::string> coded_modules(const nlohmann::json& skipped) {
  ModelSpec spec;
  spec.config.hidden = 16;
  spec.config.intermediate = 24;
  spec.config.num_layers = 11;
  spec.config.num_heads = spec.config.num_kv_heads = 2;
  spec.config.head_dim = 8;
  spec.config.vocab = 32;
  spec.lora = LoraSpec();
  spec.quantisation = parse_quantisation({{"quant_method", "bitsandbytes"},
                                          {"load_in_4bit", true},
                                          {"llm_int8_skip_modules", skipped}});
  std::vector<std::string> names;
  const Model model(spec);
  for (const Parameter& parameter : model.parameters())
    if (parameter.storage == DType::u4) names.push_back(parameter.name);
  return names;
}

TEST(Quantisation, skipped_modules_stay_as_they_are) {
  EXPECT_EQ(coded_modules(nullptr).size(), 11u * 7);
  EXPECT_EQ(coded_modules({"lm_head"}).size(), 11u * 7);
  EXPECT_EQ(coded_modules({"down_proj"}).size(), 11u * 6);
  // A layer, and not those whose number begins with its own.
  EXPECT_EQ(coded_modules({"model.layers.1"}).size(), 10u * 7);
  EXPECT_EQ(coded_modules({"model.layers.0.self_attn", "model.layers.2.mlp.up_proj"}).size(),
            11u * 7 - 5);
}

TEST(Quantisation, a_list_of_no_names_is_refused) {
  for (const nlohmann::json& skipped : {nlohmann::json("lm_head"), nlohmann::json({1, 2})})
    EXPECT_THROW(coded_modules(skipped), UserError);
}

}  // namespace
}  // namespace cairn::test
