// cairn config: the page of all keys is the one that the program prints.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "support/program.h"

namespace cairn::test {
namespace {

const std::string kProgram = "'" CAIRN_PROGRAM "' ";

TEST(Config, the_page_of_keys_is_what_the_program_prints) {
  const Outcome printed = run_command(CAIRN_SOURCE_DIR, kProgram + "config --keys markdown");
  ASSERT_EQ(printed.exit_code, 0) << printed.output;
  std::ifstream in(CAIRN_SOURCE_DIR "/docs/from_llama_factory.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(page == printed.output)
      << "docs/from_llama_factory.md is out of date; make it again with: build/dev/cairn config "
         "--keys markdown > docs/from_llama_factory.md";
}

TEST(Config, a_deepspeed_file_that_disagrees_exits_2_with_every_difference) {
  const std::string recipe =
      "config model_name_or_path=m bf16=true 'deepspeed={train_micro_batch_size_per_gpu: 2, "
      "gradient_clipping: 3}'";
  const Outcome outcome = run_command(CAIRN_SOURCE_DIR, kProgram + recipe);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  for (const char* words : {"train_micro_batch_size_per_gpu is 2", "gradient_clipping is 3"})
    EXPECT_NE(outcome.output.find(words), std::string::npos) << outcome.output;
}

TEST(Config, other_tables_of_keys_are_not_known) {
  const Outcome outcome = run_command(CAIRN_SOURCE_DIR, kProgram + "config --keys html");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("--keys markdown"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace cairn::test
