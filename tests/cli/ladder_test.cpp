// cairn ladder from end to end on a model of a few thousand parameters: what is measured is what
// was rehearsed, and a rung over budget is shown, not run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "support/program.h"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

class LadderProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("cairn_ladder_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const nlohmann::json config = {
        {"model_type", "llama"},       {"architectures", {"LlamaForCausalLM"}},
        {"hidden_size", 64},           {"intermediate_size", 96},
        {"num_hidden_layers", 3},      {"num_attention_heads", 4},
        {"num_key_value_heads", 2},    {"vocab_size", 80},
        {"rms_norm_eps", 1e-5},        {"rope_theta", 10000.0},
        {"tie_word_embeddings", true}, {"torch_dtype", "float32"}};
    std::ofstream(folder_ / "config.json") << config.dump();
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome ladder(const std::string& arguments) const {
    return run_command(folder_.string(), std::string(CAIRN_PROGRAM) + " ladder " + arguments);
  }
  nlohmann::json json_of(const std::string& arguments) const {
    const Outcome outcome = ladder(arguments + " --json 2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return nlohmann::json::parse(outcome.output);
  }
  void expect_refused(const std::string& arguments, const std::string& words) const {
    const Outcome outcome = ladder(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find(words), std::string::npos) << outcome.output;
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

const std::string kShape = "--model config.json --seq 96 --batch 2 --mean 40 --threads 2";

TEST_F(LadderProgram, measures_on_every_rung_what_it_rehearsed) {
  for (const char* method : {"lora", "full"}) {
    const nlohmann::json json =
        json_of(kShape + " --run --repeats 2 --budget 1GiB --method " + method);
    ASSERT_EQ(json["rungs"].size(), 4u);
    for (const nlohmann::json& rung : json["rungs"]) {
      SCOPED_TRACE(rung["name"].get<std::string>() + ", " + method);
      ASSERT_TRUE(rung.contains("measured"));
      for (const char* key : {"accounts", "account_peaks", "peak_bytes"})
        EXPECT_EQ(rung["measured"][key], rung[key]) << key;
      EXPECT_TRUE(rung["measured"]["equal"]);
      EXPECT_GT(rung["measured"]["step_seconds"].get<double>(), 0);
      EXPECT_GT(rung["measured"]["process_peak_rss_bytes"], rung["arena_bytes"]);
    }
  }
}

TEST_F(LadderProgram, a_rung_over_budget_names_its_account_and_is_not_run) {
  // Rungs lie further apart than the process itself varies from one start to the next.
  const std::string shape = "--model config.json --seq 512 --batch 8 --mean 200 --threads 2";
  const nlohmann::json roomy = json_of(shape + " --budget 1GiB");
  const int64_t between = (roomy["rungs"][0]["needed_bytes"].get<int64_t>() +
                           roomy["rungs"][1]["needed_bytes"].get<int64_t>()) /
                          2;
  const std::string budget = " --budget " + std::to_string(between);
  const nlohmann::json json = json_of(shape + budget + " --run --repeats 1");
  const nlohmann::json& baseline = json["rungs"][0];
  EXPECT_FALSE(baseline["fits"]);
  EXPECT_EQ(baseline["overflow"]["account"], "activations");
  EXPECT_FALSE(baseline.contains("measured"));
  EXPECT_TRUE(json["rungs"][3]["fits"]);
  EXPECT_TRUE(json["rungs"][3].contains("measured"));

  const Outcome text = ladder(shape + budget);
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_NE(text.output.find("baseline does not fit"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("what overflows is activations"), std::string::npos) << text.output;
}

TEST_F(LadderProgram, plans_a_rung_as_plan_does) {
  const nlohmann::json rungs = json_of(kShape + " --budget 1GiB")["rungs"];
  const std::vector<std::string> keys = {"gradient_checkpointing=none flash_attn=disabled",
                                         "gradient_checkpointing=block flash_attn=disabled",
                                         "gradient_checkpointing=block flash_attn=fa2"};
  for (size_t i = 0; i < keys.size(); ++i) {
    const Outcome plan = run_command(
        folder_.string(), std::string(CAIRN_PROGRAM) +
                              " plan --model config.json --method lora --seq 96 --batch 2 --json "
                              "threads=2 " +
                              keys[i] + " 2>/dev/null");
    ASSERT_EQ(plan.exit_code, 0) << plan.output;
    const nlohmann::json planned = nlohmann::json::parse(plan.output);
    for (const char* key : {"accounts", "account_peaks", "arena_bytes"})
      EXPECT_EQ(planned[key], rungs[i][key]) << keys[i] << ", " << key;
  }
}

TEST_F(LadderProgram, writes_a_picture_of_every_rung) {
  ASSERT_EQ(ladder(kShape + " --budget 1GiB --svg ladder.svg").exit_code, 0);
  const std::string svg = read("ladder.svg");
  for (const char* words : {"<svg", "baseline", "+ checkpointing", "+ FlashAttention", "+ packing"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
}

TEST_F(LadderProgram, wrong_input_exits_2_with_a_sentence) {
  expect_refused("--model nosuchmodel", "llama-2-7b");
  expect_refused("--model config.json --seq 64 --mean 65", "mean sample of 65");
  expect_refused("--model config.json --seq 1", "cutoff_len");
  expect_refused("--model config.json --batch 0", "per_device_train_batch_size");
  expect_refused("--model config.json --method dora", "qlora");
  expect_refused("--model config.json --budget plenty", "plenty");
  expect_refused("--model config.json --threads -1", "threads");
  expect_refused("--model config.json --svg nowhere/ladder.svg", "nowhere/ladder.svg");
}

}  // namespace
}  // namespace cairn::test
