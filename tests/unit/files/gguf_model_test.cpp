// A GGUF told as transformers would have it: config, names, row order; and what is refused by name.
#include "files/gguf_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "file_builders.h"

namespace cairn::test {
namespace {

template <typename E = DamagedFile>
std::string refusal_of(const GgufBuilder& builder) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.gguf", builder.build());
  return message_of<E>([&] { open_model(path); }, path);
}

TEST(GgufModel, config_has_what_transformers_needs) {
  const TemporaryFolder folder;
  const ModelFiles model = open_model(folder.write("model.gguf", tiny_llama().build()));
  const nlohmann::json& config = model.config;
  EXPECT_EQ(config["model_type"], "llama");
  EXPECT_EQ(config["architectures"][0], "LlamaForCausalLM");
  EXPECT_EQ(config["hidden_size"], 16);
  EXPECT_EQ(config["num_key_value_heads"], 1);
  EXPECT_EQ(config["head_dim"], 8);
  EXPECT_EQ(config["vocab_size"], 4);
  EXPECT_EQ(config["rms_norm_eps"], 1e-5);
  EXPECT_EQ(config["tie_word_embeddings"], true);
  EXPECT_EQ(config["attention_bias"], false);
  EXPECT_TRUE(config["rope_scaling"].is_null());
  EXPECT_EQ(config["torch_dtype"], "bfloat16");
  EXPECT_TRUE(model.tokenizer.is_null());
}

TEST(GgufModel, an_output_tensor_unties_the_head) {
  const TemporaryFolder folder;
  const ModelFiles model = open_model(folder.write(
      "model.gguf", tiny_llama().tensor("output.weight", {16, 4}, 0, floats(64)).build()));
  EXPECT_EQ(model.config["tie_word_embeddings"], false);
  EXPECT_NE(model.weights->find("lm_head.weight"), nullptr);
}

TEST(GgufModel, rows_of_q_and_k_return_to_the_order_of_transformers) {
  const TemporaryFolder folder;
  const ModelFiles model = open_model(folder.write("model.gguf", tiny_llama().build()));
  // GGUF rows 0..7 of a head of 8 are rows 0 4 1 5 2 6 3 7 of the model.
  constexpr int kFrom[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const std::vector<float> q =
      read_floats(*model.weights, "model.layers.0.self_attn.q_proj.weight");
  const std::vector<float> k =
      read_floats(*model.weights, "model.layers.0.self_attn.k_proj.weight");
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 16; ++column) {
      const int from = row / 8 * 8 + kFrom[row % 8];
      EXPECT_EQ(q[static_cast<size_t>(row * 16 + column)], static_cast<float>(from * 16 + column));
      if (row < 8) {
        EXPECT_EQ(k[static_cast<size_t>(row * 16 + column)],
                  static_cast<float>(from * 16 + column));
      }
    }
  // Any range of rows is the same rows.
  const TensorInfo& info = model.weights->require("model.layers.0.self_attn.q_proj.weight");
  std::vector<std::byte> scratch(kLeastReadScratchBytes);
  for (int64_t first = 0; first < 16; ++first)
    for (int64_t count = 1; first + count <= 16; ++count) {
      std::vector<float> rows(static_cast<size_t>(count * 16));
      model.weights->read_rows(info, first, count,
                               {reinterpret_cast<std::byte*>(rows.data()), DType::f32, {count, 16}},
                               scratch);
      ASSERT_TRUE(std::equal(rows.begin(), rows.end(), q.begin() + first * 16))
          << first << " " << count;
    }
}

TEST(GgufModel, quantized_rows_move_as_whole_blocks) {
  // Q8_0 with d = 1: row r holds r in every element.
  std::string data;
  for (int row = 0; row < 16; ++row)
    data += bytes_of(uint16_t{0x3c00}) + std::string(32, static_cast<char>(row));
  GgufBuilder builder;
  builder.text("general.architecture", "llama");
  for (const auto& [key, value] :
       {std::pair{"block_count", 1u}, std::pair{"context_length", 64u},
        std::pair{"embedding_length", 32u}, std::pair{"feed_forward_length", 32u},
        std::pair{"attention.head_count", 4u}})
    builder.u32(std::string("llama.") + key, value);
  builder.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .u32("llama.attention.key_length", 4)
      .u32("llama.attention.value_length", 4)
      .tensor("token_embd.weight", {32, 2}, 0, floats(64))
      .tensor("blk.0.attn_q.weight", {32, 16}, 8, data);
  const TemporaryFolder folder;
  const ModelFiles model = open_model(folder.write("model.gguf", builder.build()));
  const std::vector<float> q =
      read_floats(*model.weights, "model.layers.0.self_attn.q_proj.weight");
  constexpr int kFrom[] = {0, 2, 1, 3};
  for (int row = 0; row < 16; ++row)
    EXPECT_EQ(q[static_cast<size_t>(row * 32 + 31)],
              static_cast<float>(row / 4 * 4 + kFrom[row % 4]));
}

TEST(GgufModel, qwen_rows_are_left_alone) {
  GgufBuilder builder;
  builder.text("general.architecture", "qwen2");
  for (const auto& [key, value] :
       {std::pair{"block_count", 1u}, std::pair{"context_length", 64u},
        std::pair{"embedding_length", 16u}, std::pair{"feed_forward_length", 32u},
        std::pair{"attention.head_count", 2u}})
    builder.u32(std::string("qwen2.") + key, value);
  builder.f32("qwen2.attention.layer_norm_rms_epsilon", 1e-6f)
      .tensor("token_embd.weight", {16, 4}, 0, floats(64))
      .tensor("blk.0.attn_q.weight", {16, 16}, 0, floats(256))
      .tensor("blk.0.attn_q.bias", {16}, 0, floats(16));
  const TemporaryFolder folder;
  const ModelFiles model = open_model(folder.write("model.gguf", builder.build()));
  EXPECT_EQ(model.config["architectures"][0], "Qwen2ForCausalLM");
  EXPECT_EQ(read_floats(*model.weights, "model.layers.0.self_attn.q_proj.weight")[16], 16.f);
  EXPECT_EQ(read_floats(*model.weights, "model.layers.0.self_attn.q_proj.bias")[1], 1.f);
}

std::string llama3_divisors(double theta, int64_t head_dim, double factor) {
  std::string data;
  for (int64_t pair = 0; pair < head_dim / 2; ++pair) {
    const double wave =
        2 * std::numbers::pi *
        std::pow(theta, 2.0 * static_cast<double>(pair) / static_cast<double>(head_dim));
    double divisor = 1;
    if (wave > 8192)
      divisor = factor;
    else if (wave >= 2048)
      divisor = 1 / ((1 - (8192 / wave - 1) / 3) / factor + (8192 / wave - 1) / 3);
    data += bytes_of(static_cast<float>(divisor));
  }
  return data;
}

TEST(GgufModel, rope_divisors_become_llama3_scaling) {
  GgufBuilder builder;
  builder.text("general.architecture", "llama");
  for (const auto& [key, value] :
       {std::pair{"block_count", 1u}, std::pair{"context_length", 131072u},
        std::pair{"embedding_length", 128u}, std::pair{"feed_forward_length", 32u},
        std::pair{"attention.head_count", 2u}})
    builder.u32(std::string("llama.") + key, value);
  builder.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .f32("llama.rope.freq_base", 500000.f);
  GgufBuilder good = builder;
  good.tensor("token_embd.weight", {128, 1}, 0, floats(128))
      .tensor("rope_freqs.weight", {32}, 0, llama3_divisors(500000, 64, 32));
  const TemporaryFolder folder;
  const ModelFiles model = open_model(folder.write("model.gguf", good.build()));
  const nlohmann::json& scaling = model.config["rope_scaling"];
  EXPECT_EQ(scaling["rope_type"], "llama3");
  EXPECT_EQ(scaling["factor"], 32.0);
  EXPECT_EQ(scaling["low_freq_factor"], 1.0);
  EXPECT_EQ(scaling["high_freq_factor"], 4.0);
  EXPECT_EQ(scaling["original_max_position_embeddings"], 8192);
  EXPECT_EQ(model.weights->tensors().size(), 1u);
  // Divisors of another rule are not guessed at.
  builder.tensor("token_embd.weight", {128, 1}, 0, floats(128))
      .tensor("rope_freqs.weight", {32}, 0, floats(32, 1));
  expect_contains(refusal_of<UserError>(builder), "not llama3's");
}

TEST(GgufModel, gemma_norms_lose_the_one_that_was_added) {
  GgufBuilder builder;
  builder.text("general.architecture", "gemma2");
  for (const auto& [key, value] :
       {std::pair{"block_count", 1u}, std::pair{"context_length", 64u},
        std::pair{"embedding_length", 16u}, std::pair{"feed_forward_length", 32u},
        std::pair{"attention.head_count", 2u}, std::pair{"attention.sliding_window", 32u}})
    builder.u32(std::string("gemma2.") + key, value);
  builder.f32("gemma2.attention.layer_norm_rms_epsilon", 1e-6f)
      .tensor("token_embd.weight", {16, 4}, 0, floats(64))
      .tensor("blk.0.ffn_norm.weight", {16}, 0, floats(16, 1))
      .tensor("blk.0.post_attention_norm.weight", {16}, 0, floats(16, 11))
      .tensor("blk.0.post_ffw_norm.weight", {16}, 0, floats(16, 21));
  const TemporaryFolder folder;
  const ModelFiles model = open_model(folder.write("model.gguf", builder.build()));
  EXPECT_EQ(model.config["model_type"], "gemma2");
  EXPECT_EQ(model.config["hidden_activation"], "gelu_pytorch_tanh");
  EXPECT_EQ(model.config["sliding_window"], 32);
  EXPECT_EQ(model.config["query_pre_attn_scalar"], 8);
  EXPECT_EQ(model.config["final_logit_softcapping"], 30.0);
  const std::string block = "model.layers.0.";
  EXPECT_EQ(read_floats(*model.weights, block + "pre_feedforward_layernorm.weight")[3], 3.f);
  EXPECT_EQ(read_floats(*model.weights, block + "post_attention_layernorm.weight")[3], 13.f);
  EXPECT_EQ(read_floats(*model.weights, block + "post_feedforward_layernorm.weight")[3], 23.f);
  EXPECT_EQ(read_floats(*model.weights, "model.embed_tokens.weight")[3], 3.f);
}

TEST(GgufModel, unreadable_types_are_refused_with_counts) {
  GgufBuilder builder = tiny_llama();
  builder.tensor("blk.0.ffn_up.weight", {256, 1}, 10, std::string(84, 'x'))
      .tensor("blk.0.ffn_gate.weight", {256, 1}, 10, std::string(84, 'x'))
      .tensor("blk.0.ffn_down.weight", {32, 1}, 20, std::string(18, 'x'));
  const std::string text = refusal_of<UserError>(builder);
  expect_contains(text, "Q2_K (2 tensors)");
  expect_contains(text, "IQ4_NL (1 tensors)");
  expect_contains(text, "Q4_K");
}

TEST(GgufModel, what_cairn_does_not_train_is_refused_by_name) {
  GgufBuilder other;
  expect_contains(refusal_of<UserError>(other.text("general.architecture", "mamba")), "mamba");
  expect_contains(refusal_of<UserError>(tiny_llama().u32("llama.expert_count", 8)), "8 experts");
  expect_contains(refusal_of<UserError>(tiny_llama().u32("split.count", 3)), "split");
  expect_contains(
      refusal_of<UserError>(tiny_llama().tensor("blk.0.attn_sinks.weight", {2}, 0, floats(2))),
      "blk.0.attn_sinks.weight");
  expect_contains(
      refusal_of<UserError>(tiny_llama().tensor("blk.1.attn_q.weight", {16, 16}, 0, floats(256))),
      "blk.1.attn_q.weight");
  expect_contains(refusal_of<UserError>(tiny_llama()
                                            .text("llama.rope.scaling.type", "longrope")
                                            .f32("llama.rope.scaling.factor", 4)),
                  "longrope");
}

TEST(GgufModel, metadata_that_cannot_be_a_model_is_damage) {
  expect_contains(refusal_of(GgufBuilder()), "general.architecture");
  expect_contains(refusal_of(GgufBuilder().text("general.architecture", "llama")),
                  "llama.embedding_length");
  GgufBuilder zero;
  zero.text("general.architecture", "llama")
      .u32("llama.embedding_length", 16)
      .u32("llama.attention.head_count", 0);
  expect_contains(refusal_of(zero), "at least 1");
  expect_contains(refusal_of(tiny_llama().u32("llama.attention.key_length", 3)), "do not fit");
  GgufBuilder wrong_rows = tiny_llama();
  wrong_rows.tensor("blk.0.attn_q.bias", {8}, 0, floats(8));
  expect_contains(refusal_of(wrong_rows), "2 heads of 8 rows");
}

TEST(GgufModel, a_vocabulary_without_weights_is_not_a_model) {
  GgufBuilder builder;
  builder.text("general.architecture", "llama");
  for (const auto& [key, value] :
       {std::pair{"block_count", 1u}, std::pair{"context_length", 64u},
        std::pair{"embedding_length", 16u}, std::pair{"feed_forward_length", 32u},
        std::pair{"attention.head_count", 2u}})
    builder.u32(std::string("llama.") + key, value);
  builder.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f).u32("llama.vocab_size", 7);
  expect_contains(refusal_of(builder), "no tensors");
  const TemporaryFolder folder;
  EXPECT_EQ(read_config(folder.write("model.gguf", builder.build()))["vocab_size"], 7);
}

}  // namespace
}  // namespace cairn::test
