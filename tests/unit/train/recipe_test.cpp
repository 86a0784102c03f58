// Recipes: what is read, what follows from it, and that printing loses nothing.
#include "train/recipe.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

const std::string kSmallest = "model_name_or_path: tiny\n";

Recipe parsed(const std::string& lines, const std::vector<std::string>& overrides = {}) {
  return parse_recipe(kSmallest + lines, RecipeFormat::yaml, overrides, "r.yaml");
}

bool same_but_for_notes(const Recipe& a, const Recipe& b) {
  return a.model == b.model && a.method == b.method && a.data == b.data && a.train == b.train &&
         a.output == b.output && a.memory == b.memory;
}

std::vector<std::string> noted_keys(const Recipe& recipe) {
  std::vector<std::string> keys;
  for (const Note& note : recipe.notes) keys.push_back(note.key);
  return keys;
}

using Names = std::vector<std::string>;

TEST(Recipe, the_smallest_one_holds_llama_factory_defaults) {
  const Recipe recipe = parsed("");
  EXPECT_EQ(recipe.model.model_name_or_path, "tiny");
  EXPECT_EQ(recipe.method.finetuning_type, FinetuningType::lora);
  EXPECT_EQ(recipe.method.lora_rank, 8);
  EXPECT_EQ(recipe.method.lora_alpha, 16);
  EXPECT_EQ(recipe.method.lora_target, Names{"all"});
  EXPECT_EQ(recipe.data.cutoff_len, 2048);
  EXPECT_EQ(recipe.train.per_device_train_batch_size, 8);
  EXPECT_DOUBLE_EQ(recipe.train.learning_rate, 5e-5);
  EXPECT_EQ(recipe.train.data_seed, 42);
  EXPECT_EQ(recipe.train.trained_precision, TrainedPrecision::f32);
  EXPECT_EQ(recipe.memory.checkpointing, *parse_policy("block"));
  EXPECT_TRUE(recipe.notes.empty());
}

TEST(Recipe, a_path_may_begin_in_the_home_folder) {
  ASSERT_EQ(setenv("HOME", "/home/one", 1), 0);
  const Recipe recipe = parsed("output_dir: ~/saves\ndataset_dir: ~\nrun_name: ~/x\n",
                               {"model_name_or_path=~/models/m", "page_dir=x/~/y"});
  EXPECT_EQ(recipe.output.output_dir, "/home/one/saves");
  EXPECT_EQ(recipe.model.model_name_or_path, "/home/one/models/m");
  EXPECT_EQ(recipe.memory.page_dir, "x/~/y");
  EXPECT_EQ(recipe.data.dataset_dir, parsed("").data.dataset_dir) << "a lone ~ is YAML's null";
  ASSERT_EQ(unsetenv("HOME"), 0);
  EXPECT_EQ(parsed("output_dir: ~/saves").output.output_dir, "~/saves");
}

TEST(Recipe, a_llama_factory_file_is_read_as_it_is) {
  const Recipe recipe = parsed(R"(
### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 16
lora_target: q_proj, v_proj
dataset: identity,alpaca_en_demo
template: llama3
max_samples: 1000
output_dir: saves/llama
logging_steps: 10
save_steps: 0.25
plot_loss: true
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1e-4  # plain YAML 1.1 takes this for text
num_train_epochs: 3
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
)");
  EXPECT_TRUE(recipe.method.do_train);
  EXPECT_EQ(recipe.method.lora_alpha, 32);
  EXPECT_EQ(recipe.method.lora_target, (Names{"q_proj", "v_proj"}));
  EXPECT_EQ(recipe.data.dataset, (Names{"identity", "alpaca_en_demo"}));
  EXPECT_EQ(recipe.data.template_name, "llama3");
  EXPECT_EQ(recipe.data.max_samples, 1000);
  EXPECT_DOUBLE_EQ(recipe.train.learning_rate, 1e-4);
  EXPECT_DOUBLE_EQ(recipe.train.num_train_epochs, 3.0);
  EXPECT_EQ(recipe.train.lr_scheduler_type, SchedulerType::cosine);
  EXPECT_DOUBLE_EQ(recipe.output.save_steps, 0.25);
  EXPECT_DOUBLE_EQ(recipe.train.eval_steps, 10);  // follows logging_steps
  EXPECT_TRUE(recipe.train.bf16);
  EXPECT_TRUE(recipe.notes.empty());
}

TEST(Recipe, numbers_and_switches_are_read_in_every_spelling) {
  for (const char* rate : {"1e-4", "1.0e-4", "0.0001", "'1e-4'", "+1e-4", ".0001"})
    EXPECT_DOUBLE_EQ(parsed(std::string("learning_rate: ") + rate).train.learning_rate, 1e-4);
  for (const char* on : {"true", "True", "TRUE", "yes", "on", "1"})
    EXPECT_TRUE(parsed(std::string("bf16: ") + on).train.bf16) << on;
  for (const char* off : {"false", "False", "no", "Off", "0"})
    EXPECT_FALSE(parsed(std::string("bf16: ") + off).train.bf16) << off;
  EXPECT_EQ(parsed("max_samples: 1_000").data.max_samples, 1000);
  EXPECT_EQ(parsed("eval_strategy: no").train.eval_strategy, IntervalStrategy::no);
  EXPECT_EQ(parsed("dataset: [a, 'b']").data.dataset, (Names{"a", "b"}));
}

TEST(Recipe, null_stands_for_the_default) {
  const Recipe recipe = parsed("lora_rank: null\nmax_samples: ~\nlora_alpha:\ndeepspeed: null\n");
  EXPECT_EQ(recipe.method.lora_rank, 8);
  EXPECT_EQ(recipe.data.max_samples, std::nullopt);
  EXPECT_EQ(recipe.method.lora_alpha, 16);
  EXPECT_EQ(parsed("lora_rank: 4\nlora_alpha: 0\n").method.lora_alpha, 8);
}

TEST(Recipe, overrides_win_and_the_later_one_holds) {
  const Recipe recipe = parsed("lora_rank: 4\nseed: 7\n",
                               {"lora_rank=32", "max_steps=3", "lora_rank=64", "output_dir=a=b",
                                "gradient_checkpointing_kwargs.use_reentrant=false"});
  EXPECT_EQ(recipe.method.lora_rank, 64);
  EXPECT_EQ(recipe.method.lora_alpha, 128);
  EXPECT_EQ(recipe.train.max_steps, 3);
  EXPECT_EQ(recipe.train.data_seed, 7);
  EXPECT_EQ(recipe.output.output_dir, "a=b");
  EXPECT_EQ(noted_keys(recipe), Names{"gradient_checkpointing_kwargs"});
  EXPECT_EQ(parsed("max_samples: 5", {"max_samples=null"}).data.max_samples, std::nullopt);
  EXPECT_THROW(parsed("", {"lora_rank"}), UserError);
}

TEST(Recipe, checkpointing_is_on_unless_switched_off) {
  EXPECT_EQ(parsed("gradient_checkpointing: true").memory.checkpointing, *parse_policy("block"));
  EXPECT_EQ(parsed("gradient_checkpointing: block").memory.checkpointing, *parse_policy("block"));
  EXPECT_EQ(parsed("gradient_checkpointing: none").memory.checkpointing, *parse_policy("none"));
  EXPECT_EQ(parsed("gradient_checkpointing: false").memory.checkpointing, *parse_policy("none"));
  EXPECT_EQ(parsed("disable_gradient_checkpointing: true").memory.checkpointing,
            *parse_policy("none"));
  EXPECT_EQ(parsed("disable_gradient_checkpointing: false").memory.checkpointing,
            *parse_policy("block"));
  EXPECT_EQ(parsed("use_unsloth_gc: true").memory.checkpointing, *parse_policy("offload"));
}

TEST(Recipe, switches_for_checkpointing_hold_in_any_order) {
  const PolicyChoice offload = *parse_policy("offload");
  for (const char* key : {"use_unsloth_gc", "activation_offloading"}) {
    const std::string on = std::string(key) + ": true\n";
    EXPECT_EQ(parsed(on + "gradient_checkpointing: true").memory.checkpointing, offload);
    EXPECT_EQ(parsed("gradient_checkpointing: true\n" + on).memory.checkpointing, offload);
    EXPECT_EQ(parsed("memory_budget: 1GiB\n" + on).memory.checkpointing, offload);
    for (const char* other : {"gradient_checkpointing: false\n", "gradient_checkpointing: sqrt\n",
                              "disable_gradient_checkpointing: true\n"}) {
      EXPECT_THROW(parsed(on + other), UserError) << on << other;
      EXPECT_THROW(parsed(other + on), UserError) << on << other;
    }
    const std::string off = std::string(key) + ": false\n";
    EXPECT_TRUE(parsed("memory_budget: 1GiB\n" + off).memory.checkpointing.is_auto());
  }
  const char* paged =
      R"({"activation_checkpointing": {"cpu_checkpointing": true}, "gradient_clipping": "auto"})";
  EXPECT_EQ(parsed("memory_budget: 1GiB\ndeepspeed: " + std::string(paged)).memory.checkpointing,
            offload);
  const Recipe own = parsed("gradient_checkpointing: none\ndeepspeed: " + std::string(paged));
  EXPECT_EQ(own.memory.checkpointing, *parse_policy("none"));
  ASSERT_EQ(own.notes.size(), 1u);
  EXPECT_EQ(own.notes[0].key, "deepspeed, activation_checkpointing.cpu_checkpointing");
}

TEST(Recipe, overrides_are_text_unless_they_are_lists_mappings_or_quoted) {
  const auto folder = [](const char* value) {
    return parsed("", {std::string("output_dir=") + value}).output.output_dir;
  };
  for (const char* value : {"#x", "runs #2", "!x y", "&x y", "*x", "a: b", "- a", "50%", "| x"})
    EXPECT_EQ(folder(value), value);
  EXPECT_EQ(folder("'runs #2'"), "runs #2");
  EXPECT_EQ(folder("  out "), "out");
  EXPECT_EQ(parsed("", {"output_dir=null"}).output.output_dir, "trainer_output");
  EXPECT_EQ(parsed("", {"lora_target=[q_proj, v_proj]"}).method.lora_target.size(), 2u);
  EXPECT_THROW(parsed("", {"learning_rate=#1"}), UserError);
}

TEST(Recipe, two_names_for_the_length_are_refused) {
  EXPECT_THROW(parsed("max_length: 64\nmax_seq_length: 128"), UserError);
}

TEST(Recipe, is_read_again_with_other_keys) {
  const Recipe recipe = parsed("disable_gradient_checkpointing: true\nlora_rank: 4");
  const Recipe again =
      read_again(recipe, {"disable_gradient_checkpointing=false", "gradient_checkpointing=auto"});
  EXPECT_TRUE(again.memory.checkpointing.is_auto());
  EXPECT_EQ(again.method.lora_rank, 4);
  EXPECT_THROW(read_again(recipe, {"gradient_checkpointing=auto"}), UserError);
}

TEST(Recipe, a_budget_without_a_word_about_checkpointing_leaves_it_to_the_plan) {
  EXPECT_TRUE(parsed("memory_budget: 1GiB").memory.checkpointing.is_auto());
  EXPECT_EQ(parsed("memory_budget: 1GiB\ngradient_checkpointing: block").memory.checkpointing,
            *parse_policy("block"));
  EXPECT_EQ(
      parsed("memory_budget: 1GiB\ndisable_gradient_checkpointing: true").memory.checkpointing,
      *parse_policy("none"));
}

TEST(Recipe, pure_bf16_sets_the_precision_of_weights_and_activations) {
  const Recipe recipe = parsed("pure_bf16: true");
  EXPECT_EQ(recipe.train.trained_precision, TrainedPrecision::pure_bf16);
  EXPECT_TRUE(recipe.train.bf16);
  EXPECT_EQ(parsed("pure_bf16: false").train.trained_precision, TrainedPrecision::f32);
  EXPECT_EQ(parsed("trained_precision: mixed\nbf16: true").train.trained_precision,
            TrainedPrecision::mixed);
}

TEST(Recipe, packing_is_off_unless_either_key_asks_for_it) {
  EXPECT_FALSE(parsed("").data.packing);
  EXPECT_FALSE(parsed("packing: null").data.packing);
  EXPECT_TRUE(parsed("packing: true").data.packing);
  EXPECT_FALSE(parsed("packing: true").data.neat_packing);
  EXPECT_TRUE(parsed("neat_packing: true").data.packing);
  EXPECT_TRUE(parsed("neat_packing: true").notes.empty());
  EXPECT_TRUE(parsed("group_by_length: true").data.group_by_length);
}

TEST(Recipe, cairns_own_keys_are_read) {
  const Recipe recipe = parsed(
      "memory_budget: 24GiB\nloss_chunk: 512\nthreads: auto\ndevice: cpu\n"
      "mlp_tile: 512\npage_dir: /var/pages\ngradient_checkpointing: 8*every:4+4*none\n");
  EXPECT_EQ(recipe.memory.memory_budget, 24 * kGiB);
  EXPECT_EQ(recipe.memory.loss_chunk, 512);
  EXPECT_EQ(recipe.memory.mlp_tile, 512);
  EXPECT_EQ(recipe.memory.page_dir, "/var/pages");
  EXPECT_EQ(to_string(recipe.memory.checkpointing), "8*every:4+4*none");
  EXPECT_EQ(recipe.memory.threads, 0);
  EXPECT_EQ(recipe.memory.device, "cpu");
  EXPECT_EQ(parsed("memory_budget: 1.5 GB").memory.memory_budget, 1500000000);
  EXPECT_EQ(parsed("device: cuda:1").memory.device, "cuda:1");
  EXPECT_TRUE(parsed("mlp_tile: auto\noptimizer_place: resident\nweights_place: resident\n"
                     "optimizer_in_backward: false\n")
                  .notes.empty());
}

TEST(Recipe, sharding_keys_say_what_each_rank_keeps) {
  const Recipe recipe = parsed("zero_stage: 3\nzero_overlap: false\nddp_timeout: 180000000\n");
  EXPECT_TRUE(recipe.notes.empty());
  EXPECT_TRUE(recipe.sharding.shares_states() && recipe.sharding.shares_weights());
  EXPECT_FALSE(recipe.sharding.overlap);
  EXPECT_EQ(recipe.sharding.timeout_seconds, 180000000);
  EXPECT_FALSE(parsed("").sharding.shares_states());
}

TEST(Recipe, a_key_without_effect_leaves_a_note_that_says_why) {
  const Recipe recipe = parsed(
      "trust_remote_code: true\nuse_unsloth: true\nreport_to: none\nlocal_rank: 0\n"
      "gradient_checkpointing_kwargs: {use_reentrant: false}\n");
  EXPECT_EQ(noted_keys(recipe), (Names{"trust_remote_code", "use_unsloth", "local_rank",
                                       "gradient_checkpointing_kwargs"}));
  for (const Note& note : recipe.notes) EXPECT_FALSE(note.text.empty()) << note.key;
  EXPECT_EQ(noted_keys(parsed("report_to: wandb")), Names{"report_to"});
}

TEST(Recipe, a_key_of_generation_is_named_with_the_flag_that_has_its_effect) {
  const Recipe recipe = parsed(
      "max_new_tokens: 64\ndo_sample: true\ntemperature: 0.7\ntop_p: 0.9\ntop_k: 50\nnum_beams: 4\n"
      "repetition_penalty: 1.1\n");
  EXPECT_EQ(noted_keys(recipe), (Names{"max_new_tokens", "do_sample", "temperature", "top_p",
                                       "top_k", "num_beams", "repetition_penalty"}));
  for (const Note& note : recipe.notes)
    EXPECT_NE(note.text.find("cairn generate"), std::string::npos) << note.text;
  EXPECT_NE(recipe.notes[0].text.find("--max-new-tokens"), std::string::npos);
  EXPECT_EQ(to_yaml(recipe).find("\ntemperature:"), std::string::npos);
}

TEST(Recipe, a_key_that_another_overrides_leaves_a_note) {
  EXPECT_EQ(noted_keys(parsed("max_steps: 5\nnum_train_epochs: 2")), Names{"num_train_epochs"});
  EXPECT_EQ(noted_keys(parsed("warmup_steps: 5\nwarmup_ratio: 0.1")), Names{"warmup_ratio"});
  EXPECT_EQ(noted_keys(parsed("finetuning_type: full\nlora_rank: 16")), Names{"lora_rank"});
  EXPECT_EQ(noted_keys(parsed("finetuning_type: full\nadditional_target: lm_head\n"
                              "upcast_layernorm: true")),
            (Names{"additional_target", "upcast_layernorm"}));
  EXPECT_EQ(noted_keys(parsed("neat_packing: true\npacking: false")), Names{"packing"});
  EXPECT_EQ(noted_keys(parsed("group_by_length: true\ndisable_shuffling: true")),
            Names{"group_by_length"});
  EXPECT_TRUE(parsed("max_steps: -1\nnum_train_epochs: 2").notes.empty());
  // What is paged then is of another size.
  const Recipe streamed = parsed("weights_place: paged\npage_resident: 1GiB");
  ASSERT_EQ(noted_keys(streamed), Names{"page_resident"});
  EXPECT_EQ(streamed.notes[0].text.find("nothing"), std::string::npos) << streamed.notes[0].text;
}

TEST(Recipe, printing_and_reading_back_gives_the_same_recipe) {
  const Recipe recipe = parsed(
      "finetuning_type: full\ndataset: a,b\nval_size: 0.1\nlearning_rate: 1.23456789e-5\n"
      "default_system: \"Say \\\"hi\\\":\\n# 'null' \xC3\xA4\"\noutput_dir: 'null'\n"
      "memory_budget: 24GiB\nmax_steps: 7\neval_strategy: epoch\ntrained_precision: mixed\n"
      "bf16: true\ngradient_checkpointing: none\nthreads: 2\nlogging_steps: 0.01\n"
      "template: -x\ndataset_dir: 'a: b'\nwarmup_steps: 0.05\nsave_strategy: no\nseed: 7\n"
      "neat_packing: true\ngroup_by_length: true\n");
  const Recipe from_yaml = parse_recipe(to_yaml(recipe));
  EXPECT_TRUE(same_but_for_notes(recipe, from_yaml)) << to_yaml(recipe) << to_yaml(from_yaml);
  const Recipe from_json = parse_recipe(to_json(recipe), RecipeFormat::json);
  EXPECT_TRUE(same_but_for_notes(recipe, from_json)) << to_json(recipe);
  EXPECT_EQ(to_yaml(recipe), to_yaml(from_yaml));
}

TEST(Recipe, every_option_of_an_adapter_is_printed_and_read_back) {
  const Recipe recipe = parsed(
      "lora_dropout: 0.05\nuse_rslora: true\nloraplus_lr_ratio: 16\nadditional_target: "
      "embed_tokens,lm_head\n"
      "upcast_layernorm: true\n");
  EXPECT_EQ(recipe.method.lora_dropout, 0.05);
  EXPECT_EQ(recipe.method.loraplus_lr_ratio, 16);
  EXPECT_EQ(recipe.method.additional_target, (Names{"embed_tokens", "lm_head"}));
  EXPECT_TRUE(recipe.notes.empty());
  EXPECT_TRUE(same_but_for_notes(recipe, parse_recipe(to_yaml(recipe)))) << to_yaml(recipe);
}

TEST(Recipe, the_default_recipe_printed_and_read_back_has_no_notes) {
  EXPECT_TRUE(parse_recipe(to_yaml(parsed(""))).notes.empty());
  EXPECT_TRUE(
      parse_recipe(to_json(parsed("finetuning_type: full")), RecipeFormat::json).notes.empty());
}

TEST(Recipe, notes_are_printed_as_comments) {
  EXPECT_NE(to_yaml(parsed("trust_remote_code: true")).find("# trust_remote_code: "),
            std::string::npos);
}

TEST(Recipe, json_files_are_read_like_yaml_files) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "cairn_recipe_test.json";
  std::ofstream(path) << R"({"model_name_or_path": "m", "learning_rate": 1e-4, "bf16": true,
                            "dataset": "a,b", "max_samples": null, "lora_rank": 4})";
  const Recipe recipe = read_recipe(path, {"lora_rank=2"});
  EXPECT_EQ(recipe.model.model_name_or_path, "m");
  EXPECT_DOUBLE_EQ(recipe.train.learning_rate, 1e-4);
  EXPECT_EQ(recipe.data.dataset.size(), 2u);
  EXPECT_EQ(recipe.method.lora_alpha, 4);
  EXPECT_EQ(recipe.folder, path.parent_path());
  std::filesystem::remove(path);
}

TEST(Recipe, steps_below_one_are_a_share_of_all_steps) {
  EXPECT_EQ(resolve_steps(10, 100), 10);
  EXPECT_EQ(resolve_steps(0.1, 105), 11);
  EXPECT_EQ(resolve_steps(0.001, 10), 1);
  TrainRecipe train;
  train.warmup_ratio = 0.1;
  EXPECT_EQ(resolve_warmup_steps(train, 101), 11);
  train.warmup_steps = 5;
  EXPECT_EQ(resolve_warmup_steps(train, 101), 5);
  train.warmup_steps = 0.5;
  EXPECT_EQ(resolve_warmup_steps(train, 101), 51);
  EXPECT_EQ(resolve_warmup_steps(TrainRecipe{}, 101), 0);
}

TEST(Recipe, every_key_of_the_table_has_a_type_and_a_reason) {
  EXPECT_GT(recipe_keys().size(), 200u);
  for (const RecipeKey& key : recipe_keys()) {
    EXPECT_FALSE(key.expected.empty()) << key.name;
    EXPECT_FALSE(key.subject.empty()) << key.name;
    EXPECT_EQ(key.why.empty(), key.standing == Standing::honoured) << key.name;
  }
}

TEST(Recipe, a_continued_adapter_brings_its_own_shape_and_says_so) {
  std::vector<std::string> noted;
  for (const Note& note :
       parsed("adapter_name_or_path: a\nlora_rank: 8\nlora_target: q_proj").notes)
    noted.push_back(note.key);
  EXPECT_EQ(noted, (std::vector<std::string>{"lora_rank", "lora_target"}));
  EXPECT_TRUE(parsed("adapter_name_or_path: a").notes.empty());
}

}  // namespace
}  // namespace cairn
