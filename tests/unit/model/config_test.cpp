// What a config.json says of a family, and what it may not say.
#include "model/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cairn::test {
namespace {

using nlohmann::json;

json small_config(int64_t layers, const char* type = "llama") {
  return {{"model_type", type},
          {"hidden_size", 16},
          {"intermediate_size", 8},
          {"num_hidden_layers", layers},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 2},
          {"head_dim", 8},
          {"vocab_size", 16}};
}

json with(json config, const json& more) {
  config.update(more);
  return config;
}

void expect_refused(const json& config, const std::vector<std::string>& words) {
  try {
    parse_model_config(config);
    ADD_FAILURE() << config.dump() << " was taken";
  } catch (const UserError& error) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' in: " << error.what();
  }
}

TEST(ModelConfig, more_layers_than_any_model_has_are_refused_with_the_bound) {
  EXPECT_EQ(parse_model_config(small_config(1024)).num_layers, 1024);
  expect_refused(small_config(1025), {"'num_hidden_layers' is 1025", "at most 1024"});
}

TEST(ModelConfig, layers_wider_than_any_models_are_refused) {
  expect_refused(
      with(small_config(1),
           {{"num_attention_heads", 1 << 24}, {"num_key_value_heads", 1}, {"head_dim", 2}}),
      {"33554432 columns", "num_attention_heads times head_dim"});
}

TEST(ModelConfig, sizes_whose_product_no_model_has_are_refused_before_it_is_taken) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const json wide = {{"hidden_size", kMost}};
  for (const json& more : {json{{"intermediate_size", kMost}}, json{{"vocab_size", kMost}},
                           json{{"num_attention_heads", kMost}, {"num_key_value_heads", kMost}}})
    expect_refused(with(with(small_config(1024), wide), more), {"parameters", "hidden_size"});
  const ModelConfig large = parse_model_config(
      with(small_config(1024), {{"hidden_size", 65536}, {"intermediate_size", 131072}}));
  EXPECT_GT(large.num_parameters(), int64_t{1} << 44);
}

TEST(ModelConfig, a_type_that_is_not_trained_is_refused_with_those_that_are) {
  expect_refused(small_config(1, "mamba"), {"'mamba'", "qwen3", "gemma2", "phi3"});
  expect_refused(small_config(1, "qwen3_moe"), {"'qwen3_moe'"});
  expect_refused(small_config(1, "gemma3"), {"images", "gemma3_text"});
}

TEST(ModelConfig, the_class_stands_in_for_a_missing_type) {
  json config = small_config(1);
  config.erase("model_type");
  config["architectures"] = {"Qwen3ForCausalLM"};
  EXPECT_TRUE(parse_model_config(config).head_norms);
  config["architectures"] = {"FalconForCausalLM"};
  expect_refused(config, {"'FalconForCausalLM'"});
}

TEST(ModelConfig, nonsense_in_rope_scaling_is_refused_by_its_key) {
  const auto scaled = [](const json& rope) {
    return with(small_config(1), {{"rope_scaling", rope}});
  };
  expect_refused(scaled({{"rope_type", "ntk-magic"}, {"factor", 2}}), {"'ntk-magic'", "yarn"});
  expect_refused(scaled({{"rope_type", 7}}), {"'rope_type'", "7"});
  expect_refused(scaled("linear"), {"rope_scaling", "an object"});
  expect_refused(scaled({{"type", "linear"}}), {"no 'factor'"});
  expect_refused(scaled({{"type", "linear"}, {"factor", 0.5}}), {"'factor' is 0.5", "at least 1"});
  expect_refused(scaled({{"type", "linear"}, {"factor", "two"}}), {"'factor'", "two"});
  expect_refused(scaled({{"type", "yarn"}, {"factor", 4}, {"beta_fast", 1}, {"beta_slow", 2}}),
                 {"'beta_fast'", "'beta_slow'"});
  expect_refused(
      scaled({{"type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 1}}),
      {"'high_freq_factor'"});
  expect_refused(
      scaled({{"type", "longrope"}, {"short_factor", {1, 1}}, {"long_factor", {1, 1, 1, 1}}}),
      {"'short_factor'", "4 positive numbers"});
}

// Recipes of Qwen2.5 name a factor of 4 beside a context that is still the original one.
TEST(ModelConfig, the_explicit_factor_of_yarn_holds) {
  const json rope = {
      {"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};
  const ModelConfig config = parse_model_config(
      with(small_config(1, "qwen2"), {{"rope_scaling", rope}, {"max_position_embeddings", 32768}}));
  EXPECT_EQ(config.rope_scaling->factor, 4);
  EXPECT_NEAR(config.rope_scaling->attention_factor, 1.13862944, 1e-8);
}

// A saved config.json says what was trained with, wherever the scaling stands in it.
TEST(ModelConfig, a_stretched_json_reads_as_the_stretched_configuration) {
  const json plain = with(small_config(1), {{"max_position_embeddings", 1024}});
  const json anew =
      with(plain, {{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5000.0}}}});
  const json before = with(plain, {{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}});
  for (const json& config : {plain, anew, before})
    for (const RopeKind kind :
         {RopeKind::linear, RopeKind::dynamic, RopeKind::yarn, RopeKind::llama3}) {
      ModelConfig expected = parse_model_config(config);
      stretch_positions(kind, 2500, expected);
      const ModelConfig read = parse_model_config(stretched_json(kind, 2500, config));
      EXPECT_EQ(read.max_position, 3072);
      EXPECT_EQ(read.max_position, expected.max_position);
      EXPECT_EQ(read.rope_theta, expected.rope_theta);
      EXPECT_EQ(read.spectrum(2500).frequencies, expected.spectrum(2500).frequencies);
      EXPECT_EQ(read.spectrum(2500).magnitude, expected.spectrum(2500).magnitude);
      EXPECT_EQ(stretched_json(kind, 1024, config), config) << "positions that are there already";
    }
}

TEST(ModelConfig, a_missing_factor_of_yarn_is_the_ratio_of_contexts) {
  const json rope = {{"type", "yarn"}, {"original_max_position_embeddings", 1024}};
  EXPECT_EQ(parse_model_config(
                with(small_config(1), {{"rope_scaling", rope}, {"max_position_embeddings", 8192}}))
                .rope_scaling->factor,
            8);
}

TEST(ModelConfig, windows_follow_each_familys_rule) {
  // Mistral's class has a window where the key is missing; null is none.
  EXPECT_EQ(parse_model_config(small_config(2, "mistral")).window_of(1), 4096);
  EXPECT_EQ(parse_model_config(with(small_config(2, "mistral"), {{"sliding_window", nullptr}}))
                .window_of(1),
            0);
  const json qwen =
      with(small_config(3, "qwen2"), {{"sliding_window", 64}, {"max_window_layers", 2}});
  EXPECT_EQ(parse_model_config(qwen).window_of(2), 0);
  const ModelConfig sliding = parse_model_config(with(qwen, {{"use_sliding_window", true}}));
  EXPECT_EQ(sliding.window_of(1), 0);
  EXPECT_EQ(sliding.window_of(2), 64);
  const json gemma = with(small_config(2, "gemma2"), {{"sliding_window", 32}});
  EXPECT_EQ(parse_model_config(gemma).window_of(0), 32);
  EXPECT_EQ(parse_model_config(gemma).window_of(1), 0);
  const json types = {{"layer_types", {"full_attention", "sliding_attention"}}};
  EXPECT_EQ(parse_model_config(with(gemma, types)).window_of(1), 32);
  expect_refused(with(gemma, {{"layer_types", {"full_attention"}}}), {"'layer_types'", "2 words"});
  expect_refused(with(gemma, {{"layer_types", {"chunked_attention", "full_attention"}}}),
                 {"chunked_attention"});
}

TEST(ModelConfig, rotary_positions_of_gemma3_are_read_in_both_forms) {
  const ModelConfig old_form =
      parse_model_config(with(small_config(6, "gemma3_text"),
                              {{"rope_theta", 1e6},
                               {"rope_local_base_freq", 1e4},
                               {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8}}}}));
  const ModelConfig new_form = parse_model_config(
      with(small_config(6, "gemma3_text"),
           {{"rope_parameters",
             {{"full_attention", {{"rope_type", "linear"}, {"factor", 8}, {"rope_theta", 1e6}}},
              {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}}}}));
  for (const ModelConfig& config : {old_form, new_form}) {
    EXPECT_EQ(config.rope_theta, 1e6);
    EXPECT_EQ(config.rope_scaling->factor, 8);
    EXPECT_EQ(config.local_rope_theta, 1e4);
    EXPECT_TRUE(config.is_local(4));
    EXPECT_FALSE(config.is_local(5));
  }
}

TEST(ModelConfig, what_would_change_results_in_silence_is_refused) {
  expect_refused(with(small_config(1), {{"attention_dropout", 0.1}}), {"'attention_dropout'"});
  expect_refused(with(small_config(1), {{"hidden_act", "gelu"}}), {"'gelu'", "'silu'"});
  expect_refused(with(small_config(1, "gemma2"), {{"use_bidirectional_attention", true}}),
                 {"'use_bidirectional_attention'"});
  expect_refused(with(small_config(1), {{"partial_rotary_factor", 0.5}}),
                 {"'partial_rotary_factor'", "llama"});
}

TEST(ModelConfig, positions_stretch_by_the_whole_factor_that_covers_them) {
  ModelConfig config = parse_model_config(small_config(1));  // 2,048 positions
  stretch_positions(RopeKind::linear, 2048, config);
  EXPECT_FALSE(config.rope_scaling.has_value());
  stretch_positions(RopeKind::yarn, 5000, config);
  EXPECT_EQ(config.rope_scaling->factor, 3);
  EXPECT_EQ(config.rope_scaling->original_max_position, 2048);
  EXPECT_EQ(config.max_position, 6144);
}

TEST(ModelConfig, biases_are_those_that_the_family_has) {
  EXPECT_TRUE(parse_model_config(small_config(1, "qwen2")).qkv_bias);
  EXPECT_FALSE(parse_model_config(small_config(1, "qwen2")).output_bias);
  EXPECT_FALSE(parse_model_config(small_config(1, "qwen3")).qkv_bias);
  const ModelConfig llama =
      parse_model_config(with(small_config(1), {{"attention_bias", true}, {"mlp_bias", true}}));
  EXPECT_TRUE(llama.qkv_bias && llama.output_bias && llama.mlp_bias);
}

}  // namespace
}  // namespace cairn::test
