// The program where its streams or its disk refuse: one sentence and an exit code, never a signal,
// and nothing half written.
#include "cli/small_program.h"

namespace cairn::test {
namespace {

TEST_F(Program, an_stderr_that_refuses_costs_no_run_and_changes_no_exit_code) {
  for (const char* refuses : {" 2>/dev/full", " 2>&-"}) {
    const Outcome trained = cairn(std::string("train recipe.yaml max_steps=1") + refuses);
    EXPECT_EQ(trained.exit_code, 0) << refuses << trained.output;
    EXPECT_EQ(cairn(std::string("train missing.yaml") + refuses).exit_code, 2) << refuses;
    EXPECT_EQ(cairn(std::string("train recipe.yaml --budget 4MiB") + refuses).exit_code, 3);
  }
}

TEST_F(Program, an_answer_that_stdout_refuses_exits_1_with_one_sentence) {
  for (const char* command : {"plan recipe.yaml --json", "config recipe.yaml", "--version",
                              "generate --model model --prompt a --max-new-tokens 1"})
    for (const char* refuses : {" 2>&1 >/dev/full", " 2>&1 >&-"}) {
      const Outcome outcome = cairn(std::string(command) + refuses);
      EXPECT_EQ(outcome.exit_code, 1) << command << refuses << outcome.output;
      const std::string sentence = "cairn: the answer could not be written to standard output";
      const size_t at = outcome.output.find(sentence);
      ASSERT_NE(at, std::string::npos) << command << refuses << outcome.output;
      EXPECT_EQ(outcome.output.find("cairn: ", at + 1), std::string::npos) << outcome.output;
    }
}

TEST_F(Program, a_closed_stream_lends_its_number_to_no_file) {
  ASSERT_EQ(cairn("train recipe.yaml max_steps=2 output_dir=open").exit_code, 0);
  cairn("train recipe.yaml max_steps=2 output_dir=closed >&- 2>&-");
  const Outcome same = run_command(
      folder_.string(), "cmp open/adapter_model.safetensors closed/adapter_model.safetensors");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  const Outcome lines = run_command(folder_.string(), "grep -vc '^{.*}$' closed/trainer_log.jsonl");
  EXPECT_EQ(lines.output, "0\n");
}

TEST_F(Program, a_reader_that_leaves_early_exits_1_with_one_sentence) {
  const std::string late = "(sleep 0.2; " CAIRN_PROGRAM " config recipe.yaml; echo code $? >&2)";
  const Outcome outcome = run_command(folder_.string(), late + " | true");
  EXPECT_NE(outcome.output.find("code 1"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("Broken pipe"), std::string::npos) << outcome.output;
}

TEST_F(Program, a_limit_on_file_sizes_exits_1_and_leaves_nothing_half_written) {
  ASSERT_EQ(cairn("export --model model --output small").exit_code, 0);
  const Outcome outcome = run_command(
      folder_.string(), "bash -c 'ulimit -f 8; " CAIRN_PROGRAM " export --model model --output e'");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("limit allows"), std::string::npos) << outcome.output;
  EXPECT_TRUE(fs::is_empty(folder_ / "e"));
}

}  // namespace
}  // namespace cairn::test
