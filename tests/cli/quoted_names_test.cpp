// What the program quotes from files in its notes and answers: fit for a terminal and for JSON,
// whatever a name holds; and paths that no file system takes.
#include "cli/small_program.h"
#include "unit/files/file_builders.h"

namespace cairn::test {
namespace {

TEST_F(Program, roles_and_tensors_are_quoted_so_that_a_terminal_takes_them) {
  write_file(folder_ / "rows.jsonl",
             R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]})"
             "\n"
             R"({"messages":[{"role":"\u001b[31mred","content":"q"}]})"
             "\n");
  const std::string good = read_all((folder_ / "model/model.safetensors").string());
  uint64_t length = 0;
  std::memcpy(&length, good.data(), sizeof length);
  const std::string header = good.substr(8, length), data = good.substr(8 + length);
  const std::string end = std::to_string(data.size());
  write_file(folder_ / "model/model.safetensors",
             safetensors_bytes(header.substr(0, header.rfind('}')) +
                                   R"(,"\u001b[32m":{"dtype":"F32","shape":[0],"data_offsets":[)" +
                                   end + "," + end + "]}}",
                               data));
  const Outcome outcome = cairn("train recipe.yaml dataset=rows.jsonl val_size=0 max_steps=1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos) << outcome.output;
  for (const char* shown : {"\\x1b[31mred", "\\x1b[32m"})
    EXPECT_NE(outcome.output.find(shown), std::string::npos) << outcome.output;
}

TEST_F(Program, a_report_of_a_folder_whose_name_is_not_utf8_is_json) {
  ASSERT_EQ(cairn("train recipe.yaml max_steps=1").exit_code, 0);
  fs::rename(folder_ / "out", folder_ / "out\xff");
  const Outcome outcome = cairn("report 'out\xff' --json --picture losses.svg");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  const std::string json = outcome.output.substr(outcome.output.find('{'));
  EXPECT_EQ(nlohmann::json::parse(json)["runs"][0]["run"], "out\xEF\xBF\xBD");
  EXPECT_EQ(read_all((folder_ / "losses.svg").string()).find('\xff'), std::string::npos);
}

TEST_F(Program, a_model_that_no_file_system_takes_exits_2) {
  fs::create_symlink("itself", folder_ / "itself");
  for (const std::string& path : {std::string(300, 'x'), std::string("itself")}) {
    expect_refused("generate --prompt hello --model " + path, 2, "cannot be opened");
    expect_refused("export --output copy --model " + path, 2, "cannot be opened");
    expect_refused("data --text recipe.yaml --model " + path, 2, "cannot be opened");
  }
  expect_refused("generate --prompt hello --model model --adapter " + std::string(300, 'x'), 2,
                 "cannot be opened");
  expect_refused("plan --model model/model.safetensors", 2, "neither a config.json nor a .gguf");
}

}  // namespace
}  // namespace cairn::test
