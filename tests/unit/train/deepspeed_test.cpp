// A DeepSpeed JSON sets what it means and nothing else: sharding, precision, places; each key is
// honoured, named as without effect, or refused with what to use.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "train/deepspeed/deepspeed_key.h"
#include "train/recipe.h"

namespace cairn {
namespace {

const std::filesystem::path kExamples =
    std::filesystem::path(CAIRN_SOURCE_DIR) / "examples/deepspeed";

// A recipe whose key holds this JSON.
Recipe with_json(const std::string& json, const std::string& lines = "") {
  return parse_recipe("model_name_or_path: m\nbf16: true\n" + lines, RecipeFormat::yaml,
                      {"deepspeed='" + json + "'"});
}

Recipe with_zero(const std::string& members, const std::string& lines = "") {
  return with_json(R"({"bf16": {"enabled": "auto"}, "zero_optimization": {)" + members + "}}",
                   lines);
}

std::string refusal_of(const std::string& json, const std::string& lines = "") {
  try {
    with_json(json, lines);
  } catch (const UserError& error) {
    return error.what();
  }
  return "(read)";
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "wanted '" << word << "' in: " << text;
}

bool has_note(const Recipe& recipe, const std::string& key) {
  for (const Note& note : recipe.notes)
    if (note.key == "deepspeed, " + key) return true;
  return false;
}

TEST(Deepspeed, absent_it_leaves_a_recipe_as_it_is) {
  const Recipe recipe = parse_recipe("model_name_or_path: m\nbf16: true\n");
  EXPECT_EQ(recipe.sharding, ShardingSettings());
  EXPECT_EQ(recipe.train.trained_precision, TrainedPrecision::f32);
}

TEST(Deepspeed, bf16_selects_the_mixed_precision_of_trained_weights) {
  EXPECT_EQ(with_zero(R"("stage": 2)").train.trained_precision, TrainedPrecision::mixed);
  EXPECT_EQ(with_zero(R"("stage": 3)").train.trained_precision, TrainedPrecision::mixed);
  EXPECT_EQ(with_json(R"({"bfloat16": {"enabled": true}})").train.trained_precision,
            TrainedPrecision::mixed);
  // Not asked for, or asked otherwise in the recipe.
  EXPECT_EQ(with_json(R"({"zero_optimization": {"stage": 2}})").train.trained_precision,
            TrainedPrecision::f32);
  EXPECT_EQ(with_zero(R"("stage": 2)", "trained_precision: f32").train.trained_precision,
            TrainedPrecision::f32);
  EXPECT_EQ(with_zero(R"("stage": 2)", "pure_bf16: true").train.trained_precision,
            TrainedPrecision::pure_bf16);
  expect_words(refusal_of(R"({"zero_optimization": {"stage": 3}})", "pure_bf16: true"),
               {"pure_bf16", "stage"});
}

TEST(Deepspeed, sizes_are_taken_in_float_syntax_and_auto_waits_for_the_model) {
  const Recipe recipe = with_zero(
      R"("stage": 3, "overlap_comm": false, "reduce_bucket_size": 5e7, "allgather_bucket_size": 2E8,
         "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto")");
  EXPECT_EQ(recipe.sharding.stage, 3);
  EXPECT_FALSE(recipe.sharding.overlap);
  EXPECT_EQ(recipe.sharding.reduce_bucket, 50'000'000);
  EXPECT_EQ(recipe.sharding.gather_bucket, 200'000'000);
  EXPECT_EQ(recipe.sharding.prefetch_elements, kAutoElements);
  // The values of Hugging Face's rule at two hidden sizes, worked out by hand.
  const ShardingSettings small = resolved_for(recipe.sharding, 4096);
  EXPECT_EQ(small.prefetch_elements, 15'099'494);
  EXPECT_EQ(small.persistence_threshold, 40'960);
  EXPECT_EQ(small.reduce_bucket, 50'000'000);
  ShardingSettings automatic = recipe.sharding;
  automatic.reduce_bucket = kAutoElements;
  const ShardingSettings large = resolved_for(automatic, 8192);
  EXPECT_EQ(large.reduce_bucket, 67'108'864);
  EXPECT_EQ(large.prefetch_elements, 60'397'977);
  EXPECT_EQ(large.persistence_threshold, 81'920);
}

TEST(Deepspeed, what_is_left_out_is_deepspeeds_default) {
  const Recipe third = with_zero(R"("stage": 3)");
  EXPECT_TRUE(third.sharding.overlap);
  EXPECT_EQ(third.sharding.reduce_bucket, 500'000'000);
  EXPECT_EQ(third.sharding.prefetch_elements, 50'000'000);
  EXPECT_EQ(third.sharding.persistence_threshold, 100'000);
  EXPECT_FALSE(with_zero(R"("stage": 2)").sharding.overlap);
  EXPECT_EQ(with_json("{}").sharding.stage, 0);
  EXPECT_TRUE(has_note(with_json("{}"), "gradient_clipping"));
  EXPECT_FALSE(has_note(with_json("{}", "max_grad_norm: 0"), "gradient_clipping"));
  EXPECT_FALSE(has_note(with_json(R"({"gradient_clipping": "auto"})"), "gradient_clipping"));
}

TEST(Deepspeed, keys_of_cairns_own_win_over_the_file) {
  const Recipe recipe =
      with_zero(R"("stage": 3, "overlap_comm": true, "offload_optimizer": {"device": "cpu"})",
                "zero_stage: 1\nzero_overlap: false\noptimizer_place: resident");
  EXPECT_EQ(recipe.sharding.stage, 1);
  EXPECT_FALSE(recipe.sharding.overlap);
  EXPECT_EQ(recipe.memory.optimizer_place, StatePlace::resident);
}

TEST(Deepspeed, a_recipe_printed_and_read_again_needs_no_file) {
  const Recipe recipe = with_zero(
      R"("stage": 3, "reduce_bucket_size": "auto", "offload_optimizer": {"device": "cpu"})");
  const Recipe again = parse_recipe(to_yaml(recipe));
  EXPECT_EQ(again.sharding, recipe.sharding);
  EXPECT_EQ(again.memory, recipe.memory);
  EXPECT_EQ(again.train, recipe.train);
  EXPECT_TRUE(again.deepspeed.source.empty());
}

TEST(Deepspeed, offload_selects_paged_places) {
  const Recipe recipe = with_zero(
      R"("stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/fast"},
         "offload_param": {"device": "cpu", "pin_memory": true})");
  EXPECT_EQ(recipe.memory.optimizer_place, StatePlace::paged);
  EXPECT_EQ(recipe.memory.weights_place, StatePlace::paged);
  EXPECT_EQ(recipe.memory.page_dir, "/fast");
  EXPECT_EQ(
      with_zero(R"("stage": 2, "offload_optimizer": {"device": "none"})").memory.optimizer_place,
      StatePlace::resident);
  EXPECT_EQ(with_zero(R"("stage": 2, "cpu_offload": true)").memory.optimizer_place,
            StatePlace::paged);
  EXPECT_EQ(with_json(R"({"activation_checkpointing": {"cpu_checkpointing": true}})")
                .memory.checkpointing,
            *parse_policy("offload"));
}

TEST(Deepspeed, parameters_are_offloaded_under_stage_3_and_if_frozen) {
  expect_words(
      refusal_of(R"({"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}})"),
      {"offload_param", "stage 3", "weights_place"});
  const Recipe full =
      with_zero(R"("stage": 3, "offload_param": {"device": "cpu"})", "finetuning_type: full");
  EXPECT_EQ(full.memory.weights_place, StatePlace::resident);
  EXPECT_TRUE(has_note(full, "zero_optimization.offload_param"));
}

TEST(Deepspeed, older_spellings_are_understood) {
  EXPECT_EQ(with_json(R"({"zero_optimization": true})").sharding.stage, 1);
  EXPECT_EQ(with_json(R"({"zero_optimization": false})").sharding.stage, 0);
  EXPECT_EQ(with_zero(R"("stage": 3, "prefetch_bucket_size": 7)").sharding.prefetch_elements, 7);
  EXPECT_EQ(refusal_of(R"({"zero_optimization":
                            {"stage3_gather_fp16_weights_on_model_save": true}})"),
            "(read)");
}

TEST(Deepspeed, keys_without_effect_are_named_unless_they_ask_for_what_happens_anyway) {
  const Recipe recipe = with_zero(
      R"("round_robin_gradients": true, "contiguous_gradients": true, "sub_group_size": 1e9)");
  EXPECT_TRUE(has_note(recipe, "zero_optimization.round_robin_gradients"));
  EXPECT_TRUE(has_note(recipe, "zero_optimization.sub_group_size"));
  EXPECT_FALSE(has_note(recipe, "zero_optimization.contiguous_gradients"));
  EXPECT_TRUE(has_note(with_json(R"({"steps_per_print": 100})"), "steps_per_print"));
}

TEST(Deepspeed, an_unknown_key_is_refused_with_the_nearest_and_a_comment_is_not) {
  expect_words(refusal_of(R"({"zero_optimisation": {}})"),
               {"'zero_optimisation'", "'zero_optimization'"});
  expect_words(refusal_of(R"({"zero_optimization": {"stge": 2}})"),
               {"'zero_optimization.stge'", "'zero_optimization.stage'"});
  // Known, in another place.
  expect_words(refusal_of(R"({"reduce_bucket_size": 1})"),
               {"'reduce_bucket_size'", "'zero_optimization.reduce_bucket_size'"});
  expect_words(refusal_of(R"({"zero_optimization": {"offload_param": {"devise": "cpu"}}})"),
               {"'zero_optimization.offload_param.device'"});
  EXPECT_EQ(refusal_of(R"({"_comment": "why", "zero_optimization": {"_note": 1}})"), "(read)");
}

TEST(Deepspeed, wrong_values_are_refused_with_what_was_expected) {
  expect_words(refusal_of(R"({"zero_optimization": {"stage": 4}})"),
               {"zero_optimization.stage", "from 0 to 3", "'4'"});
  expect_words(refusal_of(R"({"zero_optimization": {"reduce_bucket_size": 5.5}})"),
               {"reduce_bucket_size", "an integer of at least 1, or auto", "'5.5'"});
  expect_words(refusal_of(R"({"zero_optimization": {"stage": "auto"}})"),
               {"zero_optimization.stage", "'auto'"});
  expect_words(
      refusal_of(R"({"zero_optimization": {"stage": 2, "stage3_prefetch_bucket_size": "auto"}})"),
      {"stage3_prefetch_bucket_size is auto", "stage 3 alone"});
  expect_words(refusal_of(R"({"zero_optimization": {"offload_param": {"device": "disk"}}})"),
               {"none, cpu or nvme", "'disk'"});
  expect_words(refusal_of(R"({"zero_optimization": 3})"), {"zero_optimization", "an object"});
  expect_words(refusal_of(R"({"bf16": true})"), {"bf16", "an object"});
}

TEST(Deepspeed, what_cairn_does_not_do_is_refused_with_what_to_use) {
  expect_words(refusal_of(R"({"tensor_parallel": {"autotp_size": 2}})"),
               {"tensor_parallel.autotp_size", "stage 3"});
  expect_words(refusal_of(R"({"zero_optimization": {"zero_quantized_weights": true}})"),
               {"zero_quantized_weights", "quantization_bit: 4"});
  expect_words(refusal_of(R"({"bf16": {"bf16_master_weights_and_grads": true}})"),
               {"bf16_master_weights_and_grads", "pure_bf16"});
  expect_words(refusal_of(R"({"optimizer": {"type": "OneBitAdam"}})"),
               {"'OneBitAdam'", "Adam, AdamW", "optim"});
  expect_words(refusal_of(R"({"scheduler": {"type": "OneCycle"}})"),
               {"'OneCycle'", "lr_scheduler_type"});
  // Switched off, a part is no part.
  EXPECT_EQ(refusal_of(R"({"elasticity": {"enabled": false}, "amp": {"enabled": "auto"}})"),
            "(read)");
}

TEST(Deepspeed, hostile_json_is_refused_with_a_sentence) {
  expect_words(refusal_of(R"({"zero_optimization": {"stage": 2, "stage": 3}})"),
               {"stage is given twice"});
  std::string deep;
  for (int level = 0; level < 100000; ++level) deep += R"({"a":)";
  expect_words(refusal_of(deep), {"nests more than"});
  expect_words(refusal_of(R"({"train_batch_size": 1e999})"), {"too large"});
  expect_words(refusal_of(R"({"zero_optimization": )"), {"not valid JSON"});
  expect_words(refusal_of(R"({"reduce_bucket_size")"), {"not valid JSON"});
}

TEST(Deepspeed, a_file_inline_json_a_mapping_and_base64_are_one) {
  const std::string path = (kExamples / "ds_z2_config.json").string();
  std::ifstream in(path);
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  const auto sharding_of = [](const std::string& line) {
    return parse_recipe("model_name_or_path: m\nbf16: true\n" + line).sharding;
  };
  const ShardingSettings wanted = sharding_of("deepspeed: " + path);
  EXPECT_EQ(wanted.stage, 2);
  EXPECT_EQ(sharding_of("deepspeed: " + json.substr(0, json.size() - 1)), wanted);
  EXPECT_EQ(with_json(R"({"zero_optimization": {"stage": 2}})").sharding.stage, 2);
  // {"zero_optimization":{"stage":2}}
  EXPECT_EQ(sharding_of("deepspeed: eyJ6ZXJvX29wdGltaXphdGlvbiI6eyJzdGFnZSI6Mn19").stage, 2);
  EXPECT_EQ(sharding_of("deepspeed: {zero_optimization: {stage: 3}}").stage, 3);
}

TEST(Deepspeed, a_path_is_looked_for_from_the_recipes_folder_too) {
  const Recipe recipe = parse_recipe(
      "model_name_or_path: m\nbf16: true\ndeepspeed: examples/deepspeed/ds_z3_config.json",
      RecipeFormat::yaml, {}, "r.yaml", kExamples);
  EXPECT_EQ(recipe.sharding.stage, 3);
  expect_words(refusal_of(R"({)", "").substr(0, 200), {"not valid JSON"});
  try {
    parse_recipe("model_name_or_path: m\ndeepspeed: nowhere.json");
    ADD_FAILURE() << "a file that is nowhere was read";
  } catch (const UserError& error) {
    expect_words(error.what(), {"'nowhere.json'", "neither JSON nor base64"});
  }
}

TEST(Deepspeed, every_example_says_what_its_name_says) {
  const std::map<std::string, int64_t> stages = {{"ds_z0_config.json", 0},
                                                 {"ds_z2_config.json", 2},
                                                 {"ds_z2_offload_config.json", 2},
                                                 {"ds_z3_config.json", 3},
                                                 {"ds_z3_offload_config.json", 3}};
  size_t seen = 0;
  for (const std::filesystem::path& folder :
       {kExamples,
        std::filesystem::path(CAIRN_SOURCE_DIR) / "../shared/data/llamafactory/deepspeed"}) {
    if (!std::filesystem::is_directory(folder)) {
      std::cout << folder << " is absent: its files are not checked\n";
      continue;
    }
    for (const auto& [name, stage] : stages) {
      const Recipe recipe =
          parse_recipe("model_name_or_path: m\nbf16: true\ndeepspeed: " + (folder / name).string());
      const bool offloads = name.find("offload") != std::string::npos;
      EXPECT_EQ(recipe.sharding.stage, stage) << name;
      EXPECT_EQ(recipe.train.trained_precision, TrainedPrecision::mixed) << name;
      EXPECT_EQ(recipe.memory.optimizer_place == StatePlace::paged, offloads) << name;
      EXPECT_EQ(recipe.memory.weights_place == StatePlace::paged, offloads && stage == 3) << name;
      ++seen;
    }
  }
  EXPECT_GE(seen, stages.size());
}

TEST(Deepspeed, every_row_takes_a_value_that_it_expects) {
  for (const deepspeed::Key& key : deepspeed::keys()) {
    EXPECT_FALSE(key.expected.empty()) << key.path;
    EXPECT_TRUE(key.standing == Standing::honoured || !key.why.empty()) << key.path;
    EXPECT_FALSE(deepspeed::is_section(key.path)) << key.path << " is a row and a section";
  }
}

}  // namespace
}  // namespace cairn
