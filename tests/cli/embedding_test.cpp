// The installed library, as another project sees it: an install tree, find_package, a program of
// its own that plans, trains with a callback, stops a run, and reads the ledger.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "cli/small_program.h"

namespace cairn::test {
namespace {

class Embedding : public Program {
 protected:
  // Installs and builds once for all tests of the process.
  void SetUp() override {
    Program::SetUp();
    const std::string source = CAIRN_SOURCE_DIR "/tests/embedding";
    const std::string flags =
        std::string(CAIRN_SANITIZE).empty() ? "" : "-fsanitize=" CAIRN_SANITIZE;
    const std::string commands[] = {
        "cmake --install '" CAIRN_BINARY_DIR "' --component library --prefix installed",
        "cmake -S '" + source +
            "' -B outside -DCMAKE_PREFIX_PATH=\"$PWD/installed\" -DCMAKE_CXX_COMPILER='" CAIRN_CXX
            "' -DCMAKE_CXX_FLAGS='" +
            flags + "'",
        "cmake --build outside"};
    for (const std::string& command : commands) {
      const Outcome outcome = run_command(folder_.string(), command);
      ASSERT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.output;
    }
  }

  Outcome embedding(const std::string& arguments) const {
    return run_command(folder_.string(), "outside/embedding " + arguments);
  }
  // The "name value" lines of what it printed.
  static std::map<std::string, int64_t> lines_of(const Outcome& outcome) {
    std::map<std::string, int64_t> lines;
    std::istringstream in(outcome.output);
    std::string name;
    for (int64_t value = 0; in >> name >> value;) lines[name] = value;
    return lines;
  }
};

// A minor version may change the public structs, which programs hold by value.
TEST_F(Embedding, the_name_that_programs_link_has_the_minor_version) {
  const Outcome needed = run_command(folder_.string(), "readelf -d outside/embedding");
  EXPECT_NE(needed.output.find("[libcairn.so.0.1]"), std::string::npos) << needed.output;
}

TEST_F(Embedding, an_outside_project_plans_trains_and_reads_the_ledger) {
  // Nothing of Cairn's own rooms, nor of what it leans on, is among the headers.
  for (const auto& entry : fs::directory_iterator(folder_ / "installed/include"))
    EXPECT_EQ(entry.path().filename(), "cairn");
  const Outcome outcome = embedding("recipe.yaml");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  auto lines = lines_of(outcome);
  EXPECT_EQ(lines["fits"], 1);
  EXPECT_EQ(lines["steps_seen"], 10);
  EXPECT_EQ(lines["steps_reported"], 10);
  EXPECT_EQ(lines["stopped"], 0);
  EXPECT_GT(lines["measured_peak"], 0);
  EXPECT_EQ(lines["measured_peak"], lines["predicted_peak"]);
  EXPECT_EQ(lines["planned_peak"], lines["predicted_peak"]);
  EXPECT_EQ(lines["accounts_add_up"], 1);
  EXPECT_EQ(lines["accounts_equal"], 1);
  EXPECT_EQ(lines["loss_is_a_loss"], 1);
  EXPECT_TRUE(exists("out/adapter_model.safetensors"));

  const Outcome stopping = embedding("recipe.yaml 3");
  ASSERT_EQ(stopping.exit_code, 0) << stopping.output;
  lines = lines_of(stopping);
  EXPECT_EQ(lines["stopped"], 1);
  EXPECT_EQ(lines["steps_reported"], 3);
  EXPECT_TRUE(exists("out/checkpoint-3/checkpoint.json"));

  // What a callback throws comes out as it went in.
  const Outcome thrown = embedding("recipe.yaml -1");
  EXPECT_EQ(thrown.exit_code, 4) << thrown.output;
  EXPECT_NE(thrown.output.find("thrown filesystem error: the caller's own"), std::string::npos)
      << thrown.output;

  const Outcome refused = embedding("missing.yaml");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.output.find("error 0 'missing.yaml'"), std::string::npos) << refused.output;
}

}  // namespace
}  // namespace cairn::test
