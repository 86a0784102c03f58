// What a run does when it is told to stop, when the disk is full, and when numbers go astray: each
// ends in a sentence and an exit code, and what was whole stays whole.
#include <cstring>
#include <limits>

#include "cli/run_files.h"
#include "cli/small_program.h"

namespace cairn::test {
namespace {

class Faults : public Program {
 protected:
  // Runs a script beside the program: `$cairn` is its path.
  Outcome script(const std::string& text) const {
    return run_command(folder_.string(), "cairn='" CAIRN_PROGRAM "'\n" + text);
  }
  // Replaces one value of the model by NaN.
  void spoil_model() const {
    const fs::path path = folder_ / "model/model.safetensors";
    const SafetensorsFile file(path.string());
    const TensorInfo& info = file.require("model.layers.1.mlp.up_proj.weight");
    std::string text = text_of(path);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(text.data() + info.offset + 40, &nan, sizeof nan);
    write_file(path, text);
  }
};

// A run that is long enough to be met on its way, and a signal once it has told a step.
std::string signalled_run(const std::string& signals) {
  return "env --default-signal $cairn train recipe.yaml num_train_epochs=4000 logging_steps=1 > "
         "run.log 2>&1 & p=$!\n"
         "for i in $(seq 3000); do [ -s out/trainer_log.jsonl ] && break; sleep 0.01; done\n" +
         signals + "\nwait $p; echo code $?";
}

TEST_F(Faults, a_signal_ends_the_run_after_its_step_with_a_checkpoint) {
  for (const char* signal : {"TERM", "INT"}) {
    fs::remove_all(folder_ / "out");
    const Outcome outcome = script(signalled_run(std::string("kill -") + signal + " $p"));
    EXPECT_NE(outcome.output.find("code 75"), std::string::npos)
        << outcome.output << text_of(folder_ / "run.log");
    const std::vector<std::string> saved = checkpoints_in(folder_ / "out");
    ASSERT_EQ(saved.size(), 1u);
    EXPECT_NE(text_of(folder_ / "run.log").find("resume_from_checkpoint=out/" + saved[0]),
              std::string::npos)
        << text_of(folder_ / "run.log");
    EXPECT_FALSE(exists("out/adapter_model.safetensors")) << "it has no result yet";
    const auto step = read("out/" + saved[0] + "/trainer_state.json")["global_step"].get<int64_t>();
    const Outcome on =
        cairn("train recipe.yaml num_train_epochs=4000 max_steps=" + std::to_string(step + 2) +
              " resume_from_checkpoint=true");
    EXPECT_EQ(on.exit_code, 0) << on.output;
  }
}

TEST_F(Faults, a_run_that_was_stopped_and_goes_on_writes_what_the_straight_one_writes) {
  ASSERT_EQ(
      cairn("train recipe.yaml num_train_epochs=40 logging_steps=1 output_dir=straight").exit_code,
      0);
  const Outcome outcome = script(
      "$cairn train recipe.yaml num_train_epochs=40 logging_steps=1 > run.log 2>&1 & p=$!\n"
      "for i in $(seq 3000); do [ -s out/trainer_log.jsonl ] && break; sleep 0.01; done\n"
      "kill -TERM $p; wait $p; echo code $?\n"
      "$cairn train recipe.yaml num_train_epochs=40 logging_steps=1 resume_from_checkpoint=true");
  // A machine in a hurry may have ended the run first; then the second one trains nothing.
  for (const char* name : {"adapter_model.safetensors"})
    EXPECT_TRUE(text_of(folder_ / "straight" / name) == text_of(folder_ / "out" / name))
        << outcome.output;
  EXPECT_EQ(log_of(folder_ / "straight/trainer_log.jsonl"),
            log_of(folder_ / "out/trainer_log.jsonl"));
}

TEST_F(Faults, a_second_signal_ends_it_at_once) {
  const Outcome outcome = script(signalled_run("while kill -TERM $p 2>/dev/null; do :; done"));
  EXPECT_NE(outcome.output.find("code 143"), std::string::npos)
      << outcome.output << text_of(folder_ / "run.log");
}

TEST_F(Faults, a_full_disk_leaves_the_last_checkpoint_whole) {
  const std::string full = " finetuning_type=full learning_rate=1e-3 save_steps=2 plot_loss=false ";
  ASSERT_EQ(cairn("train recipe.yaml output_dir=measured" + full).exit_code, 0);
  const Outcome outcome = script(
      "mkdir out kept; size=$(du -sk measured/checkpoint-2 | cut -f1)\n"
      "unshare -rm sh -c \"mount -t tmpfs -o size=$((size * 5 / 2))k none out || exit 99\n"
      "$cairn train recipe.yaml" +
      full + "; echo code \\$?; ls -a out; cp -r out/. kept/\" || echo no mount");
  if (outcome.output.find("code ") == std::string::npos)
    GTEST_SKIP() << "no file system of a small size can be mounted here: " << outcome.output;
  EXPECT_NE(outcome.output.find("code 1\n"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("the last whole checkpoint is out/checkpoint-"), std::string::npos)
      << outcome.output;
  EXPECT_EQ(outcome.output.find(".partial\n"), outcome.output.npos) << outcome.output;
  const std::vector<std::string> whole = checkpoints_in(folder_ / "kept");
  ASSERT_FALSE(whole.empty());
  const Outcome on =
      cairn("train recipe.yaml output_dir=on resume_from_checkpoint=kept/" + whole.back() + full);
  EXPECT_EQ(on.exit_code, 0) << on.output;
  EXPECT_EQ(state_of(folder_ / "on/checkpoint-10"), state_of(folder_ / "measured/checkpoint-10"));
}

TEST_F(Faults, a_limit_on_file_sizes_ends_in_a_sentence_and_leaves_nothing_partial) {
  const Outcome outcome = script(
      "(ulimit -f 40; $cairn train recipe.yaml finetuning_type=full save_steps=2); echo code $?");
  EXPECT_NE(outcome.output.find("code 1\n"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("there is no checkpoint yet"), std::string::npos) << outcome.output;
  for (const auto& entry : fs::directory_iterator(folder_ / "out"))
    EXPECT_EQ(entry.path().string().find("partial"), std::string::npos) << entry.path();
}

TEST_F(Faults, weights_that_are_no_numbers_stop_the_first_step_with_its_rows) {
  spoil_model();
  const Outcome outcome = cairn("train recipe.yaml val_size=0");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  for (const char* words :
       {"step 1: the loss is not finite", "rows ", " of rows.json",
        "'model.layers.1.mlp.up_proj.weight'", "there is no checkpoint yet", "workspace"})
    EXPECT_NE(outcome.output.find(words), std::string::npos) << words << "\n" << outcome.output;
  EXPECT_FALSE(exists("out/adapter_model.safetensors"));
  expect_refused("generate --model model --prompt hello", 4, "model.layers.1.mlp.up_proj.weight");
}

TEST_F(Faults, a_rate_beyond_reason_stops_the_run_and_saves_nothing_over_good_files) {
  ASSERT_EQ(cairn("train recipe.yaml save_steps=2").exit_code, 0);
  const std::string adapter = text_of(folder_ / "out/adapter_model.safetensors");
  const Outcome outcome = cairn(
      "train recipe.yaml save_steps=2 finetuning_type=full resume_from_checkpoint=false "
      "learning_rate=1e38 output_dir=wild");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  for (const char* words : {"is not finite", "rows ", "lower learning_rate", "nothing was saved"})
    EXPECT_NE(outcome.output.find(words), std::string::npos) << words << "\n" << outcome.output;
  EXPECT_FALSE(exists("wild/model.safetensors"));
  EXPECT_TRUE(text_of(folder_ / "out/adapter_model.safetensors") == adapter);
}

}  // namespace
}  // namespace cairn::test
