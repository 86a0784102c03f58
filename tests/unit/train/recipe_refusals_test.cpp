// What a recipe may not say: every refusal names the key, what was given, and what to do.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "train/recipe.h"

namespace cairn {
namespace {

std::string refusal_of(const std::string& lines, RecipeFormat format = RecipeFormat::yaml,
                       const std::vector<std::string>& overrides = {}) {
  try {
    parse_recipe(format == RecipeFormat::yaml ? "model_name_or_path: m\n" + lines : lines, format,
                 overrides, "r.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "(read)";
}

// One line of a recipe and what its refusal must say.
struct Refusal {
  const char* lines;
  std::vector<const char*> words;
};

void expect_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    const std::string text = refusal_of(refusal.lines);
    for (const char* word : refusal.words)
      EXPECT_NE(text.find(word), std::string::npos)
          << refusal.lines << "\nwanted '" << word << "' in: " << text;
  }
}

TEST(RecipeRefusals, an_unknown_key_is_named_with_the_nearest_one) {
  expect_refusals({{"lora_rnak: 8", {"'lora_rnak'", "'lora_rank'", "r.yaml, line 2"}},
                   {"learning-rate: 1", {"'learning_rate'"}},
                   {"LORA_RANKS: 1", {"'LORA_RANKS'", "'lora_rank'"}},
                   {"batch_size: 1", {"'batch_size'", "nearest"}}});
  EXPECT_NE(refusal_of("", RecipeFormat::yaml, {"seeed=1"}).find("'seed'"), std::string::npos);
}

TEST(RecipeRefusals, an_unknown_key_becomes_a_note_if_extra_keys_are_allowed) {
  ASSERT_EQ(setenv("ALLOW_EXTRA_ARGS", "1", 1), 0);
  const Recipe recipe = parse_recipe("model_name_or_path: m\nlora_rnak: 8\n");
  ASSERT_EQ(unsetenv("ALLOW_EXTRA_ARGS"), 0);
  ASSERT_EQ(recipe.notes.size(), 1u);
  EXPECT_EQ(recipe.notes[0].key, "lora_rnak");
}

TEST(RecipeRefusals, a_key_given_twice_is_refused) {
  expect_refusals({{"seed: 1\nlora_rank: 2\nseed: 3", {"seed is given twice", "line 4"}}});
  EXPECT_NE(refusal_of(R"({"model_name_or_path": "m", "seed": 1, "seed": 2})", RecipeFormat::json)
                .find("seed is given twice"),
            std::string::npos);
}

TEST(RecipeRefusals, a_wrong_type_or_range_says_what_is_expected) {
  expect_refusals({
      {"learning_rate: fast", {"learning_rate", "'fast'", "a number", "line 2"}},
      {"learning_rate: -1", {"learning_rate", "'-1'", "of at least 0"}},
      {"learning_rate: .inf", {"a number"}},
      {"lora_rank: 8.5", {"lora_rank", "an integer of at least 1", "'8.5'"}},
      {"lora_rank: 0", {"an integer of at least 1"}},
      {"loraplus_lr_ratio: 0", {"of at least 1.2e-38 and at most 3.4e+38"}},
      {"lora_dropout: 1", {"a number from 0 to 0.9999999"}},
      {"lora_rank: [8]", {"a list"}},
      {"packing: 2", {"packing", "true or false", "'2'"}},
      {"bf16: maybe", {"true or false", "'maybe'"}},
      {"warmup_ratio: 1.5", {"from 0 to 1"}},
      {"adam_beta2: 1", {"from 0 to 0.9999999"}},
      {"val_size: 1.5", {"a whole count"}},
      {"logging_steps: 2.5", {"a whole count"}},
      {"logging_steps: 0", {"above 0"}},
      {"dataset: 'a,,b'", {"names with commas between them"}},
      {"finetuning_type: laro", {"one of lora, full", "'laro'"}},
      {"memory_budget: plenty", {"memory_budget", "'plenty'", "24GiB"}},
      {"memory_budget: 24", {"at least 1MiB"}},
      {"device: gpu", {"cuda:N", "'gpu'"}},
      {"device: 'cuda:'", {"cuda:N"}},
      {"threads: 0", {"an integer of at least 1 and at most 4096, or auto"}},
      {"gradient_checkpointing: sometimes", {"none, block, every:K", "8*block+4*none"}},
      {"gradient_checkpointing: 'every:0'", {"'every:0'", "every:K"}},
      {"gradient_checkpointing: 4*block+none", {"8*block+4*none"}},
      {"ddp_timeout: long", {"ddp_timeout", "an integer"}},
      {"top_p: much", {"top_p", "a number"}},
      {"seed: 99999999999999999999", {"an integer"}},
  });
}

TEST(RecipeRefusals, a_count_beyond_any_run_is_refused_with_its_bound) {
  const std::vector<std::pair<std::string, int64_t>> bounds = {
      {"lora_rank", 65536},
      {"cutoff_len", int64_t{1} << 26},
      {"per_device_train_batch_size", 1000000},
      {"per_device_eval_batch_size", 1000000},
      {"gradient_accumulation_steps", 1000000},
      {"max_steps", 1000000000},
      {"loss_chunk", int64_t{1} << 26},
      {"mlp_tile", int64_t{1} << 26},
      {"threads", 4096}};
  for (const auto& [key, most] : bounds) {
    EXPECT_EQ(refusal_of(key + ": " + std::to_string(most)), "(read)");
    for (const int64_t beyond : {most + 1, std::numeric_limits<int64_t>::max()}) {
      const std::string text = refusal_of(key + ": " + std::to_string(beyond));
      EXPECT_TRUE(text.starts_with(key)) << text;
      EXPECT_NE(text.find("at most " + std::to_string(most)), std::string::npos) << text;
    }
  }
}

// Each is fine in 64 bits; in the 32 of the arithmetic it would be 0, 1 or infinite.
TEST(RecipeRefusals, a_number_that_32_bits_do_not_hold_is_refused_by_its_key) {
  for (const auto& [key, value, kept] :
       std::vector<std::array<const char*, 3>>{{"lora_dropout", "0.99999999", "0.9999999"},
                                               {"adam_beta1", "0.99999999", "0.9999999"},
                                               {"adam_beta2", "0.99999999", "0.99999"},
                                               {"adam_epsilon", "1e-50", "1.2e-38"},
                                               {"adam_epsilon", "1e39", "1"},
                                               {"learning_rate", "1e39", "3.4e38"},
                                               {"weight_decay", "1e39", "0"},
                                               {"max_grad_norm", "1e-50", "1e300"},
                                               {"loraplus_lr_ratio", "1e39", "1e30"},
                                               {"loraplus_lr_ratio", "1e-50", "1e-30"},
                                               {"val_size", "1e300", "0"}}) {
    const std::string text = refusal_of(std::string(key) + ": " + value);
    EXPECT_TRUE(text.starts_with(std::string(key) + ": wanted a number")) << text;
    EXPECT_EQ(refusal_of(std::string(key) + ": " + kept), "(read)");
    const auto rounded = static_cast<float>(std::strtod(kept, nullptr));
    EXPECT_EQ(rounded == 0, std::string(kept) == "0") << key;
    if (std::string(key).starts_with("adam_beta") || std::string(key) == "lora_dropout") {
      EXPECT_LT(rounded, 1.0f) << key;
    }
  }
  EXPECT_NE(refusal_of("learning_rate: 1e30\nloraplus_lr_ratio: 1e30").find("loraplus_lr_ratio"),
            std::string::npos);
}

TEST(RecipeRefusals, a_sample_has_at_least_a_token_and_the_one_it_learns) {
  for (const char* key : {"cutoff_len", "max_length", "max_seq_length"}) {
    EXPECT_NE(refusal_of(std::string(key) + ": 1").find("an integer of at least 2"),
              std::string::npos);
    EXPECT_EQ(refusal_of(std::string(key) + ": 2"), "(read)");
  }
}

TEST(RecipeRefusals, an_empty_override_is_refused_by_its_key) {
  for (const char* key : {"output_dir", "learning_rate", "memory_budget", "dataset.x"})
    for (const char* empty : {"", " "}) {
      const std::string text = refusal_of("", RecipeFormat::yaml, {std::string(key) + "=" + empty});
      EXPECT_TRUE(text.starts_with(std::string(key) + ": the override is empty")) << text;
    }
  EXPECT_EQ(refusal_of("", RecipeFormat::yaml, {"learning_rate=null"}), "(read)");
}

TEST(RecipeRefusals, what_this_version_lacks_is_refused_by_name) {
  expect_refusals({
      {"stage: dpo", {"stage", "'dpo'", "available: sft"}},
      {"stage: ppo\nneat_packing: true", {"stage", "'ppo'", "available: sft, pt"}},
      {"finetuning_type: freeze", {"'freeze'", "available: lora, full"}},
      {"optim: paged_lion_8bit",
       {"'paged_lion_8bit'", "available: adamw_torch", "paged_adamw_8bit"}},
      {"optim: adafactor", {"'adafactor'", "the nearest that saves memory is adamw_8bit"}},
      {"optim: rmsprop", {"'rmsprop'", "the nearest", "adamw_torch"}},
      {"lr_scheduler_type: polynomial", {"'polynomial'", "cosine"}},
      {"fp16: true", {"fp16", "bf16"}},
      {"quantization_bit: 8", {"quantization_bit", "'8'", "available: 4", "0.52 bytes"}},
      {"quantization_bit: 4\nfinetuning_type: full", {"quantization_bit", "lora"}},
      {"quantization_bit: 4\nquantization_method: hqq", {"'hqq'", "available: bnb"}},
      {"quantization_bit: 4\nquantization_type: fp4", {"'fp4'", "nf4"}},
      {"deepspeed: nowhere.json", {"deepspeed", "'nowhere.json'", "a DeepSpeed configuration"}},
      {"deepspeed: [stage, 3]", {"deepspeed", "a list"}},
      {"fsdp: full_shard", {"fsdp", "zero_stage: 3"}},
      {"use_dora: true", {"use_dora", "plain LoRA"}},
      {"save_strategy: best", {"'best'", "no, steps, epoch"}},
      {"weights_place: paged\nfinetuning_type: full", {"weights_place", "finetuning_type: lora"}},
      {"optimizer_place: disk", {"optimizer_place", "one of resident, paged"}},
      {"page_resident: 4KiB", {"page_resident", "at least 1MiB"}},
      {"optim: paged_adamw_8bit\noptimizer_place: resident", {"optim", "optimizer_place"}},
  });
}

TEST(RecipeRefusals, a_refused_key_is_taken_when_it_asks_for_what_happens_anyway) {
  EXPECT_EQ(
      refusal_of(
          "streaming: false\nuse_galore: false\nfp16: false\ndeepspeed: null\n"
          "use_dora: false\ngradient_checkpointing: true\n"
          "disable_gradient_checkpointing: false\nmix_strategy: concat\nquantization_bit: null\n"),
      "(read)");
}

TEST(RecipeRefusals, keys_that_contradict_each_other_are_refused) {
  expect_refusals({
      {"do_train: true", {"do_train", "dataset"}},
      {"train_on_prompt: true\nmask_history: true", {"train_on_prompt", "mask_history"}},
      {"val_size: 0.1", {"val_size", "dataset"}},
      {"dataset: a\nval_size: 0.1\neval_dataset: b", {"val_size", "eval_dataset"}},
      {"dataset: a\neval_strategy: steps", {"eval_strategy", "val_size"}},
      {"adapter_name_or_path: a\nfinetuning_type: full", {"adapter_name_or_path", "lora"}},
      {"adapter_name_or_path: a,b", {"several adapters"}},
      {"lora_target: all,q_proj", {"lora_target"}},
      {"finetuning_type: full\nuse_rslora: true", {"use_rslora", "finetuning_type: lora"}},
      {"finetuning_type: full\nloraplus_lr_ratio: 16", {"loraplus_lr_ratio", "lora"}},
      {"gradient_checkpointing: true\ndisable_gradient_checkpointing: true", {"keep one"}},
      {"pure_bf16: true\ntrained_precision: f32", {"keep one"}},
      {"trained_precision: mixed", {"bf16: true"}},
  });
}

TEST(RecipeRefusals, nothing_behind_a_control_character_is_dropped) {
  using namespace std::string_literals;
  for (const char control : {'\0', '\4', '\x1b'}) {
    const std::string behind = "seed: 1\n" + std::string(1, control) + "\nseed: 2\n";
    EXPECT_NE(refusal_of(behind).find("line 3 holds the control character"), std::string::npos)
        << refusal_of(behind);
  }
  const std::string json = "{\"model_name_or_path\": \"m\"}\0{\"seed\": 2}"s;
  EXPECT_NE(refusal_of(json, RecipeFormat::json).find("line 1 holds the control character 0x00"),
            std::string::npos);
  EXPECT_EQ(refusal_of("seed: 1\r\nlora_rank: 2\t# two\r\n"), "(read)");
}

TEST(RecipeRefusals, what_is_no_recipe_is_refused) {
  expect_refusals({{"a: [1", {"r.yaml", "not valid YAML"}},
                   {"---\nseed: 1\n", {"line 2", "one document"}},
                   {"? [a]\n: 1\n", {"a key that is a word"}}});
  // yaml-cpp reads no end of empty documents out of this line.
  EXPECT_NE(refusal_of("# a\n, b\n").find("line 3"), std::string::npos);
  EXPECT_NE(refusal_of("{", RecipeFormat::json).find("not valid JSON"), std::string::npos);
  expect_refusals(
      {{"template: a\xFF", {"not UTF-8"}}, {"template: \"a\\_\"", {"not UTF-8", "line 2"}}});
  EXPECT_NE(refusal_of("[1]", RecipeFormat::json).find("one JSON object"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"seed": 1e999})", RecipeFormat::json).find("too large"),
            std::string::npos);
  const std::string deep(100000, '[');
  EXPECT_NE(refusal_of("{\"a\": " + deep, RecipeFormat::json).find("levels deep"),
            std::string::npos);
  expect_refusals({{"report_to: &a [*a]", {"levels deep"}}});
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char name = 'b'; name < 'l'; ++name) {
    const std::string before(1, static_cast<char>(name - 1));
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 10; ++i) bomb += (i ? ",*" : "*") + before;
    bomb += "]\n";
  }
  expect_refusals({{bomb.c_str(), {"more than 10000 values", "aliases"}}});
  EXPECT_THROW(parse_recipe("seed: " + deep), UserError);
  EXPECT_THROW(parse_recipe("just text"), UserError);
  EXPECT_THROW(parse_recipe(""), UserError);  // no model
  EXPECT_THROW(read_recipe("/nowhere/recipe.yaml"), UserError);
  EXPECT_THROW(read_recipe(testing::TempDir()), UserError);
}

}  // namespace
}  // namespace cairn
