// What a low-rank adapter declares: its scale, its rates, and what is trained beside it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/adapter.h"

namespace cairn {
namespace {

ModelSpec make_spec(const LoraSpec& lora, bool tied) {
  ModelSpec spec;
  spec.config.hidden = 16;
  spec.config.intermediate = 24;
  spec.config.num_layers = 1;
  spec.config.num_heads = spec.config.num_kv_heads = 2;
  spec.config.head_dim = 8;
  spec.config.vocab = 32;
  spec.config.tied_embeddings = tied;
  spec.lora = lora;
  return spec;
}

std::vector<std::string> trained_in_full(const Model& model) {
  std::vector<std::string> names;
  for (const Parameter& parameter : model.parameters())
    if (parameter.trainable && !parameter.adapter) names.push_back(parameter.name);
  return names;
}

// The config that was written for `lora`, changed by `change`, read back.
LoraSpec written_and_read(const LoraSpec& lora,
                          const std::function<void(nlohmann::json&)>& change = {}) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("cairn_lora_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  nlohmann::json config = make_adapter_config(lora, "base");
  if (change) change(config);
  std::ofstream(folder / "adapter_config.json") << config.dump();
  const LoraSpec read = read_adapter_config(folder.string());
  std::filesystem::remove_all(folder);
  return read;
}

TEST(Lora, scale_is_alpha_over_rank_or_over_its_root_if_rank_stabilized) {
  LoraSpec lora;
  lora.rank = 64;
  lora.alpha = 16;
  EXPECT_EQ(lora.scale(), 0.25);
  lora.rank_stabilized = true;
  EXPECT_EQ(lora.scale(), 2.0);
}

TEST(Lora, plus_speeds_up_b_and_vectors_and_leaves_a_and_matrices) {
  LoraSpec lora;
  lora.learning_rate_ratio = 16;
  lora.modules_to_save = {"lm_head", "norm"};
  const Model model(make_spec(lora, false));
  int fast = 0;
  for (const Parameter& parameter : model.parameters()) {
    const bool vector = parameter.trainable && parameter.shape.rank() == 1;
    const bool is_fast = vector || parameter.name.ends_with(".lora_B.weight");
    EXPECT_EQ(parameter.learning_rate_scale, is_fast ? 16 : 1) << parameter.name;
    fast += is_fast;
  }
  EXPECT_EQ(fast, 7 + 3) << "the B of seven products, and three norms";
}

TEST(Lora, modules_to_save_are_trained_and_lie_in_the_adapter_under_their_plain_path) {
  LoraSpec lora;
  lora.modules_to_save = {"embed_tokens", "model.norm"};
  const Model model(make_spec(lora, false));
  EXPECT_EQ(trained_in_full(model),
            (std::vector<std::string>{"model.embed_tokens.weight", "model.norm.weight"}));
  EXPECT_EQ(model.parameters().front().name_in_adapter(),
            "base_model.model.model.embed_tokens.weight");
  EXPECT_TRUE(model.parameters().front().in_adapter_file());
}

TEST(Lora, a_tied_embedding_parts_from_the_head_when_one_of_them_is_trained) {
  LoraSpec lora;
  EXPECT_EQ(Model(make_spec(lora, true)).find("lm_head.weight"), nullptr);
  for (const char* trained : {"embed_tokens", "lm_head"}) {
    lora.modules_to_save = {trained};
    Model model(make_spec(lora, true));
    EXPECT_EQ(trained_in_full(model).size(), 1u);
    ASSERT_NE(model.find("lm_head.weight"), nullptr);
    EXPECT_EQ(model.find("lm_head.weight")->name_in_model(), "model.embed_tokens.weight");
  }
}

TEST(Lora, a_module_that_is_nowhere_or_has_a_pair_is_not_trained_in_full) {
  LoraSpec lora;
  lora.modules_to_save = {"score"};
  EXPECT_THROW(check_saved_beside(Model(make_spec(lora, false))), UserError);
  lora.modules_to_save = {"q_proj"};
  EXPECT_THROW(Model(make_spec(lora, false)), UserError);
  lora.targets = {"v_proj"};
  EXPECT_EQ(trained_in_full(Model(make_spec(lora, false))).size(), 1u);
}

TEST(Lora, upcast_norms_are_f32_and_nothing_else_is) {
  ModelSpec spec = make_spec(LoraSpec(), false);
  spec.upcast_norms = true;
  const Model model(spec);
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.trainable) continue;
    const DType wanted = parameter.shape.rank() == 1 ? DType::f32 : DType::bf16;
    EXPECT_EQ(parameter.storage, wanted) << parameter.name;
  }
}

TEST(Lora, its_config_is_read_back_as_it_was_written) {
  LoraSpec lora;
  lora.rank = 4;
  lora.alpha = 3;
  lora.targets = {"o_proj", "q_proj"};
  lora.dropout = 0.05;
  lora.rank_stabilized = true;
  lora.modules_to_save = {"embed_tokens", "lm_head"};
  const LoraSpec read = written_and_read(lora);
  EXPECT_EQ(read.rank, lora.rank);
  EXPECT_EQ(read.alpha, lora.alpha);
  EXPECT_EQ(read.targets, lora.targets);
  EXPECT_EQ(read.dropout, lora.dropout);
  EXPECT_EQ(read.rank_stabilized, lora.rank_stabilized);
  EXPECT_EQ(read.modules_to_save, lora.modules_to_save);
  EXPECT_TRUE(written_and_read(LoraSpec()).modules_to_save.empty());
}

TEST(Lora, a_config_of_another_kind_is_refused_and_a_broken_one_named) {
  const auto with = [](const char* key, nlohmann::json value) {
    return [=](nlohmann::json& config) { config[key] = value; };
  };
  EXPECT_THROW(written_and_read({}, with("use_dora", true)), UserError);
  EXPECT_THROW(written_and_read({}, with("ensure_weight_tying", true)), UserError);
  EXPECT_THROW(written_and_read({}, with("lora_dropout", 1)), DamagedFile);
  EXPECT_THROW(written_and_read({}, with("lora_dropout", 0.99999999)), DamagedFile);
  EXPECT_THROW(written_and_read({}, with("use_rslora", "yes")), DamagedFile);
  EXPECT_THROW(written_and_read({}, with("modules_to_save", "lm_head")), DamagedFile);
  EXPECT_THROW(written_and_read({}, with("modules_to_save", {1})), DamagedFile);
}

}  // namespace
}  // namespace cairn
