// A run that is killed without warning, again and again, at moments drawn from a seed: in a step,
// in a save, in a load. Each time the folder holds whole checkpoints only, with the bits of the run
// that was never killed; and the run that goes on to the end writes what that one wrote.
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "cli/run_files.h"
#include "cli/small_program.h"
#include "files/checkpoint_folder.h"

namespace cairn::test {
namespace {

constexpr int kKills = 50;
constexpr uint64_t kMostLives = 300;
constexpr const char* kKeys[] = {
    "finetuning_type=full", "learning_rate=1e-3", "optim=adamw_8bit", "num_train_epochs=8",
    "save_steps=4",         "logging_steps=1",    "threads=1",        "plot_loss=false"};

using Milliseconds = std::chrono::milliseconds;

class Killed : public Program {
 protected:
  // Wide enough that products have states in 8 bits.
  void SetUp() override {
    Program::SetUp();
    write_model(folder_ / "model", {{"intermediate_size", 130}});
  }
  // Starts the run that goes on from whatever `out` holds; its words go to run.log.
  pid_t start(const std::string& log) const {
    const pid_t child = fork();
    if (child != 0) return child;
    std::string command = "exec '" CAIRN_PROGRAM "' train recipe.yaml overwrite_output_dir=false";
    for (const char* key : kKeys) command += std::string(" ") + key;
    command += " > " + log + " 2>&1";
    if (chdir(folder_.c_str()) != 0) _exit(127);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  // Whether the process has ended by itself.
  static bool has_ended(pid_t child, int& status) {
    return waitpid(child, &status, WNOHANG) == child;
  }

  // Every checkpoint is whole, and has the bits of the straight run.
  int64_t check_folder() const {
    int64_t newest = 0;
    if (!exists("out")) return newest;
    for (const CheckpointPath& checkpoint : list_checkpoints((folder_ / "out").string())) {
      EXPECT_NO_THROW(check_checkpoint(checkpoint.path));
      const std::string name = fs::path(checkpoint.path).filename().string();
      EXPECT_TRUE(state_of(checkpoint.path) == state_of(folder_ / "straight" / name)) << name;
      newest = checkpoint.step;
    }
    return newest;
  }
  bool was_saving() const {
    if (!exists("out")) return false;
    for (const std::string& name : checkpoints_in(folder_ / "out"))
      if (name.ends_with(".partial")) return true;
    return false;
  }
};

TEST_F(Killed, at_random_moments_it_resumes_to_the_bits_of_the_run_that_was_never_killed) {
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  ASSERT_EQ(waitpid(start("straight.log"), &status, 0) > 0, true);
  ASSERT_EQ(status, 0) << text_of(folder_ / "straight.log");
  fs::rename(folder_ / "out", folder_ / "straight");
  const auto whole_run =
      std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin);

  const Random random(20261130);
  int in_save = 0, in_step = 0, in_load = 0, finished = 0;
  const auto kills = [&] { return in_save + in_step + in_load; };
  for (uint64_t life = 0; life < kMostLives; ++life) {
    if (kills() >= kKills && in_save > 0 && in_step > 0 && in_load > 0) break;
    const pid_t child = start("run.log");
    // Most of a small run is saving. So a third of the moments are early ones, and a third are put
    // off until no save is under way.
    const uint64_t bound = static_cast<uint64_t>(whole_run.count()) / (life % 3 == 1 ? 5 : 1);
    std::this_thread::sleep_for(Milliseconds(random.below(life, 1 + bound)));
    for (int i = 0; life % 3 == 2 && was_saving() && i < 1000; ++i) std::this_thread::yield();
    if (has_ended(child, status)) {
      ASSERT_EQ(status, 0) << text_of(folder_ / "run.log");
      ++finished;
      fs::remove_all(folder_ / "out");
      continue;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (was_saving())
      ++in_save;
    else if (text_of(folder_ / "run.log").find("  loss ") != std::string::npos)
      ++in_step;
    else
      ++in_load;
    check_folder();
    if (HasFailure()) return;
  }
  std::cout << "killed " << in_load << " times before a step, " << in_step << " times in one, "
            << in_save << " times in a save; " << finished
            << " runs ended first, the whole run took " << whole_run.count() << " ms\n";
  EXPECT_GE(kills(), kKills);
  EXPECT_GT(in_save, 0);
  EXPECT_GT(in_step, 0);
  EXPECT_GT(in_load, 0);
  ASSERT_EQ(waitpid(start("run.log"), &status, 0) > 0, true);
  ASSERT_EQ(status, 0) << text_of(folder_ / "run.log");
  EXPECT_EQ(check_folder(), 40);
  EXPECT_TRUE(text_of(folder_ / "out/model.safetensors") ==
              text_of(folder_ / "straight/model.safetensors"));
  EXPECT_EQ(log_of(folder_ / "out/trainer_log.jsonl"),
            log_of(folder_ / "straight/trainer_log.jsonl"));
}

}  // namespace
}  // namespace cairn::test
