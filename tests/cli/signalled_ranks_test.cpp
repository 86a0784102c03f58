// Ranks that are stopped, killed or stalled: all end with a sentence, and a run goes on from the
// last checkpoint as if nothing had been.
#include <signal.h>

#include <chrono>
#include <thread>

#include "cli/ranks.h"
#include "cli/run_files.h"
#include "files/checkpoint_folder.h"

namespace cairn::test {
namespace {

// Starts a long run on three ranks, does something to rank 1 once a checkpoint is there, and waits
// for the end.
class SignalledRanks : public Ranks {
 protected:
  static constexpr const char* kLongRun =
      "train recipe.yaml bf16=false max_steps=1000000 save_strategy=steps save_steps=2000000 "
      "logging_steps=1 eval_strategy=no per_device_train_batch_size=1 zero_stage=3 "
      "zero_persistence_threshold=0 lr_scheduler_type=constant ddp_timeout=2 ";

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

// At moments drawn from a seed, one rank or the other, in loads, steps and saves.
TEST_F(SignalledRanks, killed_again_and_again_go_on_to_the_bits_of_a_run_that_was_not) {
  SKIP_WITHOUT_MPI();
  const std::string keys =
      "train recipe.yaml bf16=false max_steps=16 save_steps=1 save_strategy=steps logging_steps=1 "
      "per_device_train_batch_size=2 zero_stage=3 zero_persistence_threshold=0 "
      "overwrite_output_dir=false";
  const auto begin = std::chrono::steady_clock::now();
  const Outcome straight = mpirun(2, keys);
  ASSERT_EQ(straight.exit_code, 0) << straight.output;
  const auto whole_run = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  fs::rename(folder_ / "out", folder_ / "straight");
  const Random random(20261130);
  constexpr int kKills = 4;
  int kills = 0;
  for (uint64_t life = 0; kills < kKills && life < 40; ++life) {
    std::thread job([&] { mpirun(2, keys); });
    std::this_thread::sleep_for(std::chrono::milliseconds(
        random.below(life, 1 + static_cast<uint64_t>(whole_run.count()))));
    const int process = find_rank(static_cast<int>(life % 2));
    if (process > 0 && kill(process, SIGKILL) == 0) ++kills;
    job.join();
    if (!exists("out")) continue;
    for (const CheckpointPath& checkpoint : list_checkpoints((folder_ / "out").string())) {
      EXPECT_NO_THROW(check_checkpoint(checkpoint.path));
      const std::string name = fs::path(checkpoint.path).filename().string();
      ASSERT_TRUE(state_of(checkpoint.path) == state_of(folder_ / "straight" / name)) << name;
    }
    if (exists("out/checkpoint-16")) fs::remove_all(folder_ / "out");
  }
  EXPECT_EQ(kills, kKills);
  const Outcome last = mpirun(2, keys);
  ASSERT_EQ(last.exit_code, 0) << last.output;
  EXPECT_TRUE(text_of(folder_ / "out/adapter_model.safetensors") ==
              text_of(folder_ / "straight/adapter_model.safetensors"));
  EXPECT_EQ(log_of(folder_ / "out/trainer_log.jsonl"),
            log_of(folder_ / "straight/trainer_log.jsonl"));
}

}  // namespace
}  // namespace cairn::test
