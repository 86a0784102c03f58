// A folder with a model, rows and a recipe, of which one file is damaged in many ways: the program
// answers each with one sentence that names the file, and the exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/small_program.h"
#include "unit/files/file_builders.h"

namespace cairn::test {

// What a file holds, and the words of the answer.
struct Damage {
  std::string content;
  std::vector<std::string> words;
};

inline const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\noid "
    "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32"
    "b1258daaa5e2ca24d17e2393\nsize 12345\n";
inline const std::string kPage = "<!DOCTYPE html><html><body>404</body></html>";

class DamagedFiles : public Program {
 protected:
  // Writes each damage as `file` and runs `command`.
  void expect(int exit_code, const std::string& file, const std::string& command,
              const std::vector<Damage>& damages) const {
    for (const Damage& damage : damages) {
      write_file(folder_ / file, damage.content);
      const Outcome outcome = cairn(command);
      EXPECT_EQ(outcome.exit_code, exit_code) << damage.content.substr(0, 200) << outcome.output;
      EXPECT_NE(outcome.output.find(fs::path(file).filename().string()), std::string::npos)
          << outcome.output;
      for (const std::string& word : damage.words)
        EXPECT_NE(outcome.output.find(word), std::string::npos)
            << "wanted '" << word << "' in: " << outcome.output;
    }
  }
};

}  // namespace cairn::test
