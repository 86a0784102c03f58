// The source tree as a test sees it: every C++ file with its lines, its room, and what it includes.
#pragma once

#include <string>
#include <vector>

namespace cairn::testing {

struct SourceFile {
  std::string path;  // from the project's folder: "src/memory/arena.h"
  std::string room;  // "memory"; "apps" under apps/, "cairn" under include/
  std::vector<std::string> lines;
  std::vector<std::string> includes;  // the quoted ones, as written

  bool is_header() const { return path.ends_with(".h"); }
};

// Every .h and .cpp below src/, apps/ and include/, sorted by path.
std::vector<SourceFile> read_source_tree();

// The line without its string literals and without what follows "//", so that a rule about code
// does not see prose.
std::string code_of(const std::string& line);

}  // namespace cairn::testing
