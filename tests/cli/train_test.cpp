// The program from end to end on a model of a few thousand parameters: what it writes, and how it
// answers wrong input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "cli/small_program.h"

namespace cairn::test {
namespace {

TEST_F(Program, trains_an_adapter_and_measures_what_it_predicted) {
  const Outcome outcome = cairn("train recipe.yaml");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* name : {"out/adapter_model.safetensors", "out/adapter_config.json",
                           "out/trainer_log.jsonl", "out/ledger.json", "out/training_loss.svg"})
    EXPECT_TRUE(exists(name)) << name;
  const nlohmann::json ledger = read("out/ledger.json");
  EXPECT_EQ(ledger["predicted"], ledger["measured"]);
  EXPECT_GT(ledger["arena_bytes"].get<int64_t>(), 0);
  const nlohmann::json adapter = read("out/adapter_config.json");
  EXPECT_EQ(adapter["peft_type"], "LORA");
  EXPECT_EQ(adapter["target_modules"].size(), 7u);
  const SafetensorsFile tensors((folder_ / "out/adapter_model.safetensors").string());
  EXPECT_EQ(tensors.tensors().size(), 2u * 7 * 2);
  EXPECT_NE(tensors.find("base_model.model.model.layers.1.mlp.down_proj.lora_B.weight"), nullptr);

  const Outcome answer =
      cairn("generate --model model --adapter out --prompt 'say aa' --max-new-tokens 8");
  EXPECT_EQ(answer.exit_code, 0) << answer.output;

  const Outcome ids =
      cairn("generate --model model --adapter out --prompt 'say aa' --f32 --logits l");
  ASSERT_EQ(ids.exit_code, 0) << ids.output;
  const SafetensorsFile logits((folder_ / "l").string());
  const auto tokens = 1 + std::count(ids.output.begin(), ids.output.end(), ',');
  EXPECT_EQ(logits.require("logits").shape, (Shape{tokens, kVocab}));
}

// Steps at a rate of zero on the same rows: two sums of one loss, and what of them is logged.
TEST_F(Program, logs_the_mean_loss_over_tokens_of_steps_and_of_the_validation_rows) {
  nlohmann::json rows = nlohmann::json::array();
  for (const size_t length : {1u, 40u, 3u, 90u, 2u})
    rows.push_back({{"instruction", "say"}, {"output", std::string(length, 'a')}});
  write_file(folder_ / "five.json", rows.dump());
  const auto lines_of_run = [&](const std::string& arguments) {
    const Outcome outcome =
        cairn("train recipe.yaml val_size=0 learning_rate=0 bf16=false " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    std::vector<nlohmann::json> lines;
    std::ifstream log(folder_ / "out/trainer_log.jsonl");
    for (std::string line; std::getline(log, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const auto all =
      lines_of_run("dataset=five.json per_device_train_batch_size=5 max_steps=1 logging_steps=1");
  ASSERT_EQ(all.size(), 1u);
  const auto loss = all[0].at("loss").get<double>();
  EXPECT_GT(loss, 1);
  // Batches of any size: every token counts once.
  for (const std::string batch : {"1", "2", "5"}) {
    const auto lines = lines_of_run(
        "eval_dataset=five.json max_steps=1 logging_steps=1 eval_strategy=steps eval_steps=1 "
        "per_device_eval_batch_size=" +
        batch);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_NEAR(lines[1].at("eval_loss").get<double>() / loss, 1, 1e-5) << batch;
  }
  const std::string one_row_a_step =
      "dataset=five.json per_device_train_batch_size=1 max_steps=2 disable_shuffling=true ";
  const auto single = lines_of_run(one_row_a_step + "logging_steps=1");
  const auto both = lines_of_run(one_row_a_step + "logging_steps=2");
  ASSERT_EQ(single.size(), 2u);
  ASSERT_EQ(both.size(), 1u);
  const double mean = (single[0].at("loss").get<double>() + single[1].at("loss").get<double>()) / 2;
  EXPECT_NE(single[0].at("loss"), single[1].at("loss"));
  EXPECT_NEAR(both[0].at("loss").get<double>(), mean, 1e-6);
}

// What is saved describes what was trained: its type, and positions that were stretched.
TEST_F(Program, saves_a_full_fine_tune_with_its_type_and_its_positions) {
  ASSERT_EQ(cairn("train recipe.yaml finetuning_type=full max_steps=1 bf16=false "
                  "rope_scaling=yarn cutoff_len=5000")
                .exit_code,
            0);
  const nlohmann::json config = read("out/config.json");
  EXPECT_EQ(config["torch_dtype"], "float32");
  EXPECT_EQ(config["max_position_embeddings"], 6144);
  EXPECT_EQ(config["rope_scaling"],
            (nlohmann::json{
                {"rope_type", "yarn"}, {"factor", 3}, {"original_max_position_embeddings", 2048}}));
  ASSERT_EQ(cairn("train recipe.yaml finetuning_type=full max_steps=1").exit_code, 0);
  EXPECT_EQ(read("out/config.json")["torch_dtype"], "bfloat16");
  const Outcome adapter =
      cairn("train recipe.yaml max_steps=1 rope_scaling=linear cutoff_len=5000");
  EXPECT_NE(adapter.output.find("whoever loads the adapter gives its base the same"),
            std::string::npos)
      << adapter.output;
}

// An embedding of terabytes, in a file of holes.
TEST_F(Program, refuses_a_budget_that_the_machine_has_not) {
  constexpr int64_t kHuge = int64_t{1} << 31;
  nlohmann::json config = read("model/config.json");
  config["vocab_size"] = kHuge;
  ModelSpec spec;
  spec.config = parse_model_config(config);
  nlohmann::json header;
  int64_t end = 0;
  const Model model(spec);
  for (const Parameter& parameter : model.parameters()) {
    const int64_t begin = std::exchange(end, end + 4 * parameter.elements());
    header[parameter.name] = {{"dtype", "F32"}, {"data_offsets", {begin, end}}};
    for (int i = 0; i < parameter.shape.rank(); ++i)
      header[parameter.name]["shape"].push_back(parameter.shape[i]);
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<uint64_t>(text.size());
  write_file(folder_ / "model/config.json", config.dump());
  write_file(folder_ / "model/model.safetensors",
             std::string(reinterpret_cast<const char*>(&length), 8) + text);
  fs::resize_file(folder_ / "model/model.safetensors", 8 + length + static_cast<uint64_t>(end));
  const Outcome outcome = cairn("train recipe.yaml memory_budget=4000TiB");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("but this machine has"), std::string::npos) << outcome.output;
}

TEST_F(Program, names_a_config_that_asks_for_a_kv_cache_and_keeps_none) {
  const Outcome outcome = cairn("train recipe.yaml max_steps=1");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("use_cache: true"), std::string::npos) << outcome.output;
  const nlohmann::json with = read("out/ledger.json")["measured"];
  nlohmann::json config = read("model/config.json");
  config["use_cache"] = false;
  write_file(folder_ / "model/config.json", config.dump());
  const Outcome without = cairn("train recipe.yaml max_steps=1");
  EXPECT_EQ(without.output.find("use_cache"), std::string::npos) << without.output;
  EXPECT_EQ(read("out/ledger.json")["measured"], with);
}

TEST_F(Program, attention_with_its_probabilities_measures_what_it_predicted) {
  ASSERT_EQ(cairn("train recipe.yaml max_steps=2").exit_code, 0);
  const nlohmann::json tiled = read("out/ledger.json")["measured"];
  const Outcome outcome = cairn("train recipe.yaml max_steps=2 flash_attn=disabled");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json ledger = read("out/ledger.json");
  EXPECT_EQ(ledger["predicted"], ledger["measured"]);
  const auto activations = [](const nlohmann::json& side) {
    return side["account_peaks"]["activations"].get<int64_t>();
  };
  EXPECT_GT(activations(ledger["measured"]), activations(tiled));
}

TEST_F(Program, trains_every_weight_and_writes_a_model_that_it_reads_again) {
  const Outcome outcome = cairn("train recipe.yaml finetuning_type=full learning_rate=1e-3");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json ledger = read("out/ledger.json");
  EXPECT_EQ(ledger["predicted"], ledger["measured"]);
  EXPECT_TRUE(exists("out/model.safetensors"));
  EXPECT_TRUE(exists("out/config.json"));
  EXPECT_TRUE(exists("out/tokenizer.json"));
  const Outcome answer = cairn("generate --model out --prompt 'say aa' --max-new-tokens 8");
  EXPECT_EQ(answer.exit_code, 0) << answer.output;
}

// "trained 5 steps, 120 tokens with labels"
std::string trained_tokens_of(const std::string& output) {
  const size_t end = output.find(" tokens with labels");
  return end == output.npos ? "" : output.substr(0, end).substr(output.rfind(' ', end - 1) + 1);
}

TEST_F(Program, packed_it_trains_the_same_tokens_and_measures_what_it_predicted) {
  const Outcome plain = cairn("train recipe.yaml");
  ASSERT_EQ(plain.exit_code, 0) << plain.output;
  ASSERT_NE(trained_tokens_of(plain.output), "");
  for (const char* key : {"packing=true", "neat_packing=true"}) {
    const Outcome packed = cairn(std::string("train recipe.yaml ") + key);
    ASSERT_EQ(packed.exit_code, 0) << packed.output;
    EXPECT_NE(packed.output.find("20 samples packed into "), std::string::npos) << packed.output;
    EXPECT_NE(packed.output.find(" rows of at most 256 tokens"), std::string::npos);
    EXPECT_EQ(trained_tokens_of(packed.output), trained_tokens_of(plain.output));
    const nlohmann::json ledger = read("out/ledger.json");
    EXPECT_EQ(ledger["predicted"], ledger["measured"]);
  }
}

TEST_F(Program, grouped_by_length_it_measures_what_it_predicted) {
  const Outcome outcome = cairn("train recipe.yaml group_by_length=true");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json ledger = read("out/ledger.json");
  EXPECT_EQ(ledger["predicted"], ledger["measured"]);
}

TEST_F(Program, every_policy_writes_the_same_adapter_and_measures_what_it_predicted) {
  std::string plain;
  for (const char* policy : {"none", "block", "every:2", "sqrt", "nested", "selective", "offload",
                             "1*offload+1*none", "auto"}) {
    const Outcome outcome =
        cairn(std::string("train recipe.yaml gradient_checkpointing=") + policy);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const nlohmann::json ledger = read("out/ledger.json");
    EXPECT_EQ(ledger["predicted"], ledger["measured"]) << policy;
    std::ifstream file(folder_ / "out/adapter_model.safetensors", std::ios::binary);
    const std::string adapter((std::istreambuf_iterator<char>(file)), {});
    if (plain.empty()) plain = adapter;
    EXPECT_EQ(adapter, plain) << policy;
  }
}

TEST_F(Program, the_policy_that_the_plan_chose_can_be_run_again_by_its_name) {
  const Outcome planned = cairn("plan recipe.yaml gradient_checkpointing=none --json 2>/dev/null");
  const int64_t needed = nlohmann::json::parse(planned.output)["arena_bytes"];
  const int64_t runtime = nlohmann::json::parse(planned.output)["runtime_bytes"];
  const Outcome outcome = cairn(fmt::format("train recipe.yaml --budget {}", needed + 4 * runtime));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("was left to the plan"), std::string::npos) << outcome.output;
  const nlohmann::json chosen = read("out/ledger.json");
  const Outcome again = cairn("train out/resolved_recipe.yaml output_dir=again");
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_EQ(read("again/ledger.json")["measured"], chosen["measured"]);
}

TEST_F(Program, a_page_folder_that_cannot_be_used_exits_2_and_is_named) {
  expect_refused("train recipe.yaml gradient_checkpointing=offload page_dir=/proc/nowhere", 2,
                 "page_dir '/proc/nowhere'");
}

TEST_F(Program, plans_the_run_that_train_executes) {
  const Outcome plan = cairn("plan recipe.yaml --json 2>/dev/null");
  ASSERT_EQ(plan.exit_code, 0) << plan.output;
  ASSERT_EQ(cairn("train recipe.yaml").exit_code, 0);
  const nlohmann::json planned = nlohmann::json::parse(plan.output);
  const nlohmann::json measured = read("out/ledger.json")["measured"];
  for (const char* key : {"peak_bytes", "accounts", "account_peaks"})
    EXPECT_EQ(planned[key], measured[key]) << key;
}

TEST_F(Program, over_budget_exits_3_before_loading_and_shows_the_ledger) {
  expect_refused("train recipe.yaml --budget 4MiB", 3, "weights");
  EXPECT_FALSE(exists("out/adapter_model.safetensors"));
}

// A run of a budget that barely holds it either is refused before anything is loaded, or ends: no
// buffer is ever found too small in the middle.
TEST_F(Program, under_any_budget_it_ends_or_loads_nothing) {
  const Outcome planned = cairn("plan recipe.yaml --json 2>/dev/null");
  ASSERT_EQ(planned.exit_code, 0) << planned.output;
  const nlohmann::json plan = nlohmann::json::parse(planned.output);
  const int64_t needed = plan["arena_bytes"].get<int64_t>() + plan["runtime_bytes"].get<int64_t>();
  int ended = 0;
  for (const double part : {0.3, 0.9, 1.0, 1.05, 1.1, 1.2, 1.5, 2.0}) {
    fs::remove_all(folder_ / "out");
    const auto budget = static_cast<int64_t>(part * static_cast<double>(needed));
    const Outcome outcome = cairn("train recipe.yaml --budget " + std::to_string(budget));
    if (outcome.exit_code == 0) {
      ++ended;
      EXPECT_EQ(read("out/ledger.json")["measured"]["peak_bytes"],
                read("out/ledger.json")["predicted"]["peak_bytes"]);
      continue;
    }
    EXPECT_EQ(outcome.exit_code, 3) << outcome.output;
    EXPECT_NE(outcome.output.find("nothing was loaded"), std::string::npos) << outcome.output;
    EXPECT_FALSE(exists("out/adapter_model.safetensors"));
  }
  EXPECT_GT(ended, 0);
}

TEST_F(Program, wrong_input_exits_2_with_a_sentence) {
  expect_refused("train recipe.yaml lora_rnak=8", 2, "lora_rank");
  expect_refused("train recipe.yaml template=nonesuch", 2, "nonesuch");
  expect_refused("plan recipe.yaml train_on_prompt=true template=glm4", 2,
                 "ends a conversation only");
  expect_refused("train recipe.yaml dataset=missing.json", 2, "missing.json");
  expect_refused("train recipe.yaml model_name_or_path=nowhere", 2, "nowhere");
  expect_refused("train recipe.yaml overwrite_output_dir=false lora_target=q_porj", 2, "q_porj");
  expect_refused("plan --model nosuchmodel", 2, "llama-2-7b");
  expect_refused("plan --model llama-2-7b --budget plenty", 2, "plenty");
  expect_refused("plan --model llama-2-7b --seq 0", 2, "cutoff_len");
  expect_refused("plan --model llama-2-7b --batch -1", 2, "per_device_train_batch_size");
  expect_refused("plan --model llama-2-7b --batch 1000000 --seq 1000000", 2, "tokens");
  expect_refused("nosuchcommand", 2, "");
  expect_refused("train missing.yaml", 2, "missing.yaml");
}

TEST_F(Program, a_damaged_model_exits_4_and_names_the_file) {
  fs::resize_file(folder_ / "model/model.safetensors",
                  fs::file_size(folder_ / "model/model.safetensors") - 100);
  expect_refused("train recipe.yaml", 4, "model.safetensors");
}

TEST_F(Program, keeps_a_trained_model_unless_told_otherwise) {
  ASSERT_EQ(cairn("train recipe.yaml max_steps=2 save_strategy=no").exit_code, 0);
  expect_refused("train recipe.yaml overwrite_output_dir=false", 2, "overwrite_output_dir");
}

TEST_F(Program, two_runs_of_one_recipe_write_the_same_adapter) {
  ASSERT_EQ(cairn("train recipe.yaml output_dir=one").exit_code, 0);
  ASSERT_EQ(cairn("train recipe.yaml output_dir=two threads=1").exit_code, 0);
  const Outcome same = run_command(
      folder_.string(), "cmp one/adapter_model.safetensors two/adapter_model.safetensors");
  EXPECT_EQ(same.exit_code, 0) << same.output;
}

}  // namespace
}  // namespace cairn::test
