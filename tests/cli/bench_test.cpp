// cairn bench attention: what it says of memory is exact on every machine.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "support/program.h"

namespace cairn::test {
namespace {

TEST(BenchAttention, tiled_workspace_is_linear_and_small_and_the_square_is_not) {
  const Outcome outcome = run_command(
      ".", std::string(CAIRN_PROGRAM) +
               " bench attention --tokens 64 --repeats 1 --threads 2 --json 2>/dev/null");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json memory = nlohmann::json::parse(outcome.output)["memory"];
  ASSERT_EQ(memory.size(), 4u);
  const auto bytes = [&](size_t row, const char* kind) { return memory[row][kind].get<int64_t>(); };
  EXPECT_EQ(memory[3]["tokens"], 16384);
  EXPECT_LT(bytes(3, "flash_bytes"), 128 * kMiB);
  for (size_t row = 1; row + 1 < memory.size(); ++row)
    EXPECT_EQ(bytes(row + 1, "flash_bytes") - bytes(row, "flash_bytes"),
              2 * (bytes(row, "flash_bytes") - bytes(row - 1, "flash_bytes")));
  for (size_t row = 0; row + 1 < memory.size(); ++row)
    EXPECT_GT(bytes(row + 1, "materialised_bytes"), 3 * bytes(row, "materialised_bytes"));
}

TEST(BenchGemm, refuses_to_be_held_to_what_is_no_instruction_set) {
  const Outcome outcome =
      run_command(".", std::string("CAIRN_SIMD=sse9 ") + CAIRN_PROGRAM + " bench gemm");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.output.find("write avx2"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace cairn::test
