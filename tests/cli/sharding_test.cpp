// The program on many ranks: planned in one process, and run under mpirun.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "cli/small_program.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

#define SKIP_WITHOUT_MPI()                    \
  if (std::string(CAIRN_TEST_MPIRUN).empty()) \
  GTEST_SKIP() << "MPI is not built here: install-dependencies mpi, then configure again"

class Ranks : public Program {
 protected:
  // What a process may hold beyond its plan: MPI's buffers for messages grow with use.
  static constexpr int64_t kRankSlack = 16 << 20;
  // In f32, so that only the order of sums differs.
  static constexpr const char* kRecipe = "train recipe.yaml bf16=false max_steps=4 logging_steps=1";

  Outcome mpirun(int ranks, const std::string& arguments) const {
    return run_command(folder_.string(), launch(ranks) + CAIRN_PROGRAM + " " + arguments);
  }
  static std::string launch(int ranks) {
    return fmt::format("OMP_WAIT_POLICY=passive '{}' --allow-run-as-root --oversubscribe -n {} ",
                       CAIRN_TEST_MPIRUN, ranks);
  }
  std::vector<double> losses() const {
    std::vector<double> losses;
    std::ifstream in(folder_ / "out/trainer_log.jsonl");
    for (std::string line; std::getline(in, line);)
      if (const auto json = nlohmann::json::parse(line); json.contains("loss"))
        losses.push_back(json["loss"]);
    return losses;
  }
  static double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
    return std::sqrt(sum);
  }
  std::vector<float> tensor(const std::string& file, const std::string& name) const {
    const SafetensorsFile source((folder_ / file).string());
    const TensorInfo& info = source.require(name);
    std::vector<float> values(static_cast<size_t>(info.shape.elements()));
    std::vector<std::byte> scratch(kReadScratchBytes);
    source.read(
        info,
        View(reinterpret_cast<std::byte*>(values.data()), DType::f32, {info.shape.elements()}),
        scratch);
    return values;
  }
};

// 7.5 billion parameters in the mixed mode on 64 ranks: the figure of the paper.
TEST_F(Ranks, plan_of_64_has_the_model_states_of_the_paper) {
  nlohmann::json config = read("model/config.json");
  config.update({{"hidden_size", 4096},
                 {"intermediate_size", 11008},
                 {"num_hidden_layers", 36},
                 {"num_attention_heads", 32},
                 {"num_key_value_heads", 32},
                 {"vocab_size", 26000},
                 {"tie_word_embeddings", false}});
  fs::create_directories(folder_ / "large");
  write_file(folder_ / "large/config.json", config.dump());
  const double expected[] = {120, 31.4, 16.6, 1.9};
  for (int stage = 0; stage <= 3; ++stage) {
    const Outcome outcome = cairn(
        fmt::format("plan --model large --method full --seq 512 --batch 1 --world-size 64 --budget "
                    "900GiB trained_precision=mixed zero_stage={} --json",
                    stage));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const auto plan = nlohmann::json::parse(outcome.output);
    double bytes = 0;
    for (const char* account : {"weights", "gradients", "optimizer"})
      bytes += plan["account_peaks"][account].get<double>();
    EXPECT_NEAR(bytes / 1e9, expected[stage], 0.05) << "stage " << stage;
    EXPECT_EQ(plan["world_size"], 64);
  }
}

TEST_F(Ranks, a_stage_on_one_rank_is_said_to_split_nothing) {
  const Outcome outcome = cairn("train recipe.yaml max_steps=1 zero_stage=3");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("splits nothing"), std::string::npos) << outcome.output;
}

// Adapter and whole model, quantised and not, on two to four ranks at every stage.
TEST_F(Ranks, train_under_mpirun_to_what_one_process_trains) {
  SKIP_WITHOUT_MPI();
  struct Case {
    const char* keys;
    int ranks, stage, batch;
    const char* tensor;
    const char* file;
  };
  const std::string pair = "base_model.model.model.layers.1.mlp.down_proj.lora_B.weight";
  const std::string weight = "model.layers.1.mlp.down_proj.weight";
  for (const Case& test :
       {Case{"", 2, 0, 2, pair.c_str(), "out/adapter_model.safetensors"},
        Case{"", 4, 3, 1, pair.c_str(), "out/adapter_model.safetensors"},
        Case{"quantization_bit=4", 2, 3, 2, pair.c_str(), "out/adapter_model.safetensors"},
        Case{"quantization_bit=4 weights_place=paged", 2, 3, 2, pair.c_str(),
             "out/adapter_model.safetensors"},
        Case{"finetuning_type=full learning_rate=1e-3", 3, 1, 2, weight.c_str(),
             "out/model.safetensors"},
        Case{"finetuning_type=full learning_rate=1e-3 gradient_accumulation_steps=2", 2, 2, 2,
             weight.c_str(), "out/model.safetensors"},
        Case{"finetuning_type=full learning_rate=1e-3 packing=true cutoff_len=128", 2, 3, 2,
             weight.c_str(), "out/model.safetensors"}}) {
    SCOPED_TRACE(fmt::format("{} on {} ranks, stage {}", test.keys, test.ranks, test.stage));
    const std::string keys = fmt::format("{} {} adam_epsilon=1", kRecipe, test.keys);
    const Outcome alone =
        cairn(fmt::format("{} per_device_train_batch_size={}", keys, test.ranks * test.batch));
    ASSERT_EQ(alone.exit_code, 0) << alone.output;
    const std::vector<double> expected = losses();
    const std::vector<float> trained = tensor(test.file, test.tensor);
    // A pair's B starts at zero.
    const std::vector<float> before = std::string(test.file) == "out/model.safetensors"
                                          ? tensor("model/model.safetensors", test.tensor)
                                          : std::vector<float>(trained.size(), 0.0f);
    const Outcome shared =
        mpirun(test.ranks, fmt::format("{} per_device_train_batch_size={} zero_stage={} "
                                       "zero_persistence_threshold=0",
                                       keys, test.batch, test.stage));
    ASSERT_EQ(shared.exit_code, 0) << shared.output;
    const std::vector<double> measured = losses();
    const double relative = 100 * tolerance(DType::f32, 256 * kVocab);
    ASSERT_EQ(measured.size(), expected.size());
    for (size_t step = 0; step < expected.size(); ++step)
      EXPECT_NEAR(measured[step], expected[step], relative * expected[step]) << "step " << step;
    const std::vector<float> other = tensor(test.file, test.tensor);
    const double size = distance(trained, std::vector<float>(trained.size(), 0.0f));
    EXPECT_GT(distance(trained, before), 0);
    EXPECT_LE(distance(trained, other),
              relative * distance(trained, before) + 10 * unit_roundoff(DType::f32) * size);

    const nlohmann::json first = read("out/ledger.json");
    EXPECT_EQ(first["predicted"], first["measured"]);
    ASSERT_EQ(first["peak_bytes_of_ranks"].size(), static_cast<size_t>(test.ranks));
    for (int rank = 1; rank < test.ranks; ++rank) {
      const nlohmann::json ledger = read(fmt::format("out/ledger.rank{}.json", rank));
      EXPECT_EQ(ledger["predicted"], ledger["measured"]);
      // A process of a rank holds what its plan says, and MPI.
      EXPECT_LE(ledger["process_peak_rss_bytes"], ledger["arena_bytes"].get<int64_t>() +
                                                      ledger["runtime_bytes"].get<int64_t>() +
                                                      kRankSlack);
      EXPECT_EQ(first["peak_bytes_of_ranks"][static_cast<size_t>(rank)],
                ledger["measured"]["peak_bytes"]);
    }
    // Rank 0 alone speaks.
    const std::string& output = shared.output;
    EXPECT_EQ(output.find("wrote out"), output.rfind("wrote out")) << output;
  }
}

// Shares are cut between the blocks of 8-bit states: every stage has the bits of stage 0, and one
// process agrees within what a code may turn over, which is less than coding itself does.
TEST_F(Ranks, hold_states_in_8_bits_as_one_process_does) {
  SKIP_WITHOUT_MPI();
  write_model(folder_ / "model", {{"hidden_size", 64}, {"intermediate_size", 192}});
  const std::string keys = std::string(kRecipe) +
                           " finetuning_type=full learning_rate=1e-3 adam_epsilon=1 "
                           "max_grad_norm=0 zero_persistence_threshold=0 ";
  const std::string weight = "model.layers.1.mlp.down_proj.weight";
  const auto trained = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(read("out/ledger.json")["predicted"], read("out/ledger.json")["measured"]);
    return tensor("out/model.safetensors", weight);
  };
  const std::vector<float> wide = trained(cairn(keys + "per_device_train_batch_size=4"));
  const std::vector<float> alone =
      trained(cairn(keys + "optim=adamw_8bit per_device_train_batch_size=4"));
  const auto shared = [&](int stage) {
    return trained(mpirun(2, keys + fmt::format("optim=adamw_8bit per_device_train_batch_size=2 "
                                                "zero_stage={}",
                                                stage)));
  };
  const std::vector<float> whole = shared(0);
  EXPECT_LT(distance(alone, whole), distance(alone, wide));
  for (int stage = 1; stage <= 3; ++stage) EXPECT_EQ(shared(stage), whole) << "stage " << stage;
}

TEST_F(Ranks, that_would_do_different_things_fail_before_the_first_step) {
  SKIP_WITHOUT_MPI();
  const std::string two =
      fmt::format("{} {} : -n 1 {} {}", CAIRN_PROGRAM, "train recipe.yaml zero_stage=1",
                  CAIRN_PROGRAM, "train recipe.yaml zero_stage=2 output_dir=other");
  const Outcome outcome = run_command(folder_.string(), launch(1) + two);
  EXPECT_EQ(outcome.exit_code, 5) << outcome.output;
  EXPECT_NE(outcome.output.find("give every rank the same recipe"), std::string::npos)
      << outcome.output;
}

// The user's mistake is told once, with its own code.
TEST_F(Ranks, tell_a_wrong_recipe_once) {
  SKIP_WITHOUT_MPI();
  const Outcome outcome = mpirun(3, "train recipe.yaml model_name_or_path=nowhere");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  const size_t at = outcome.output.find("nowhere");
  ASSERT_NE(at, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("rank 1:"), std::string::npos) << outcome.output;
}

// Twelve rows a batch, whoever takes them. Written under stage 3 on four ranks, gone on with on any
// number of them at another stage, and by one process.
TEST_F(Ranks, a_checkpoint_of_four_resumes_on_any_number_at_another_stage) {
  SKIP_WITHOUT_MPI();
  const std::string keys =
      "train recipe.yaml bf16=false max_steps=4 logging_steps=1 adam_epsilon=1 save_steps=2 "
      "save_strategy=steps zero_persistence_threshold=0 overwrite_output_dir=false ";
  const Outcome straight = mpirun(4, keys + "per_device_train_batch_size=3 zero_stage=3");
  ASSERT_EQ(straight.exit_code, 0) << straight.output;
  const std::vector<double> expected = losses();
  ASSERT_EQ(expected.size(), 4u);
  const std::string pair = "base_model.model.model.layers.1.mlp.down_proj.lora_B.weight";
  const std::vector<float> trained = tensor("out/adapter_model.safetensors", pair);
  EXPECT_TRUE(exists("out/checkpoint-2/states-00004-of-00004.safetensors"));
  struct Way {
    int ranks, stage;
  };
  for (const Way& way : {Way{4, 3}, Way{3, 2}, Way{2, 1}, Way{1, 0}}) {
    SCOPED_TRACE(fmt::format("{} ranks, stage {}", way.ranks, way.stage));
    fs::remove_all(folder_ / "out/checkpoint-4");
    const std::string resumed = keys + fmt::format(
                                           "per_device_train_batch_size={} zero_stage={} "
                                           "resume_from_checkpoint=out/checkpoint-2",
                                           12 / way.ranks, way.stage);
    const Outcome outcome = way.ranks == 1 ? cairn(resumed) : mpirun(way.ranks, resumed);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const std::vector<double> measured = losses();
    ASSERT_EQ(measured.size(), expected.size());
    const double relative = 100 * tolerance(DType::f32, 256 * kVocab);
    for (size_t step = 0; step < 4; ++step)
      EXPECT_NEAR(measured[step], expected[step], relative * expected[step]) << "step " << step;
    // On the same ranks, to the bit.
    const bool same_bits = tensor("out/adapter_model.safetensors", pair) == trained;
    EXPECT_TRUE(same_bits || way.ranks != 4);
  }
}

// Starts a long run on three ranks, does something to rank 1 once a checkpoint is there, and waits
// for the end.
class SignalledRanks : public Ranks {
 protected:
  static constexpr const char* kLongRun =
      "train recipe.yaml bf16=false max_steps=1000000 save_strategy=steps save_steps=2000000 "
      "logging_steps=1 eval_strategy=no per_device_train_batch_size=1 zero_stage=3 "
      "zero_persistence_threshold=0 ddp_timeout=2 ";

  Outcome run_and_signal_rank_1(int signal, const std::string& keys = "") {
    Outcome outcome;
    std::thread job([&] { outcome = mpirun(3, kLongRun + keys); });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (losses_so_far() < 4 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const int process = find_rank(1);
    EXPECT_GT(process, 0) << "rank 1 must be there";
    if (process > 0) kill(process, signal);
    job.join();
    return outcome;
  }

 private:
  size_t losses_so_far() const {
    std::ifstream in(folder_ / "out/trainer_log.jsonl");
    size_t lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    return lines;
  }
  // The process of that rank in this test's folder; 0 if there is none.
  int find_rank(int rank) const {
    const std::string wanted = fmt::format("OMPI_COMM_WORLD_RANK={}", rank);
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::error_code ignored;
      if (fs::read_symlink(entry.path() / "cwd", ignored) != fs::canonical(folder_)) continue;
      if (fs::read_symlink(entry.path() / "exe", ignored) != fs::canonical(CAIRN_PROGRAM)) continue;
      std::ifstream in(entry.path() / "environ", std::ios::binary);
      for (std::string variable; std::getline(in, variable, '\0');)
        if (variable == wanted) return std::stoi(name);
    }
    return 0;
  }
};

TEST_F(SignalledRanks, one_that_stalls_ends_the_job_with_its_name_after_the_timeout) {
  SKIP_WITHOUT_MPI();
  const Outcome outcome = run_and_signal_rank_1(SIGSTOP);
  EXPECT_EQ(outcome.exit_code, 5) << outcome.output;
  EXPECT_NE(outcome.output.find("rank 1 did not answer within ddp_timeout, 2 s"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("there is no checkpoint yet"), std::string::npos) << outcome.output;
}

// The exit code is the launcher's, which saw the process end as well.
TEST_F(SignalledRanks, one_that_is_killed_ends_the_job_with_its_name_and_the_checkpoint) {
  SKIP_WITHOUT_MPI();
  const Outcome outcome = run_and_signal_rank_1(SIGKILL, "save_steps=2 save_total_limit=1");
  EXPECT_NE(outcome.exit_code, 0) << outcome.output;
  const size_t at = outcome.output.find("rank 1 ended during the ");
  ASSERT_NE(at, std::string::npos) << outcome.output;
  const std::string words = "the last whole checkpoint is ";
  const size_t named = outcome.output.find(words, at);
  ASSERT_NE(named, std::string::npos) << outcome.output;
  const size_t begin = named + words.size();
  const std::string path = outcome.output.substr(begin, outcome.output.find('\n', begin) - begin);
  EXPECT_TRUE(exists(path + "/states-00003-of-00003.safetensors")) << path;
}

// Each of the ways in which a launcher hands one on: all ranks stop after the same step, save it,
// and go on from it as if nothing had been.
TEST_F(SignalledRanks, stop_together_with_a_checkpoint) {
  SKIP_WITHOUT_MPI();
  for (const int signal : {SIGTERM, SIGUSR1}) {
    SCOPED_TRACE(signal);
    const Outcome outcome = run_and_signal_rank_1(signal);
    EXPECT_EQ(outcome.exit_code, 75) << outcome.output;
    const std::string words = "resume_from_checkpoint=";
    const size_t at = outcome.output.find(words);
    ASSERT_NE(at, std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("stopped by a signal"),
              outcome.output.rfind("stopped by a signal"))
        << "rank 0 alone says so";
    const size_t begin = at + words.size();
    const std::string path = outcome.output.substr(begin, outcome.output.find(' ', begin) - begin);
    const size_t steps = losses().size();
    EXPECT_EQ(path, fmt::format("out/checkpoint-{}", steps));
    const std::string longer = fmt::format("{} max_steps={} ", kLongRun, steps + 2);
    const Outcome resumed = mpirun(3, longer + "resume_from_checkpoint=" + path);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
    const std::vector<double> measured = losses();
    const Outcome straight = mpirun(3, longer + "overwrite_output_dir=true");
    ASSERT_EQ(straight.exit_code, 0) << straight.output;
    EXPECT_EQ(measured, losses());
    fs::remove_all(folder_ / "out");
  }
}

}  // namespace
}  // namespace cairn::test
