// Holds the source tree to docs/rooms.txt and to the rules of the house that a line of text can
// show. Each failure names the file, the line and the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "unit/rooms/source_tree.h"

namespace cairn::testing {
namespace {

using Table = std::map<std::string, std::set<std::string>>;

Table read_table() {
  std::ifstream in(std::string(CAIRN_SOURCE_DIR) + "/docs/rooms.txt");
  Table table;
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::istringstream names(line.substr(colon + 1));
    auto& allowed = table[line.substr(0, colon)];
    for (std::string name; names >> name;) allowed.insert(name);
  }
  return table;
}

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_source_tree();
  return files;
}

bool below(const SourceFile& file, std::string_view folder) {
  return file.path.starts_with(folder);
}

// Fails for each line of code in `file` that matches.
void expect_no_line(const SourceFile& file, const std::regex& pattern, const std::string& rule) {
  for (size_t i = 0; i < file.lines.size(); ++i) {
    EXPECT_FALSE(std::regex_search(code_of(file.lines[i]), pattern))
        << file.path << ":" << i + 1 << ": " << rule << "\n  " << file.lines[i];
  }
}

TEST(Rooms, the_table_lists_every_room_and_has_no_circle) {
  const Table table = read_table();
  for (const auto& file : tree())
    EXPECT_TRUE(table.contains(file.room)) << file.path << " is in no room of docs/rooms.txt";
  for (const auto& [room, allowed] : table)
    for (const auto& other : allowed) {
      ASSERT_TRUE(table.contains(other)) << room << " may include the unknown room " << other;
      EXPECT_FALSE(table.at(other).contains(room)) << room << " and " << other << " form a circle";
    }
}

TEST(Rooms, every_include_is_allowed_by_the_table) {
  const Table table = read_table();
  for (const auto& file : tree()) {
    const auto row = table.find(file.room);
    if (row == table.end()) continue;
    for (const auto& name : file.includes) {
      const size_t slash = name.find('/');
      // apps/cairn is one folder, its headers are named without a room.
      if (slash == std::string::npos && file.room == "apps") continue;
      ASSERT_NE(slash, std::string::npos)
          << file.path << ": an include starts with its room, got \"" << name << '"';
      const std::string room = name.substr(0, slash);
      if (!table.contains(room)) continue;  // Highway wants its own headers in quotes
      EXPECT_TRUE(room == file.room || row->second.contains(room))
          << file.path << " includes \"" << name << "\", but docs/rooms.txt does not let "
          << file.room << " include " << room;
    }
  }
}

// A concrete backend or transport is named by its own folder and by the registry of its room.
TEST(Rooms, only_the_registries_name_concrete_backends_and_transports) {
  for (const auto& file : tree())
    for (const auto& name : file.includes) {
      const bool concrete = name.starts_with("backend/") || name.starts_with("comm/");
      const size_t slash = name.rfind('/');
      if (!concrete || slash == name.find('/')) continue;
      const std::string folder = "src/" + name.substr(0, name.find('/', name.find('/') + 1) + 1);
      const std::string registry = "src/" + file.room + "/registry.cpp";
      EXPECT_TRUE(below(file, folder) || file.path == registry)
          << file.path << " includes \"" << name << "\"; only " << folder
          << " and the registry may";
    }
}

TEST(Rooms, no_caller_asks_the_preprocessor_what_was_built) {
  const std::regex pattern("^\\s*#\\s*(el)?if.*\\bCAIRN_(CUDA|MPI|NCCL)\\b");
  for (const auto& file : tree()) {
    if (file.path.ends_with("/registry.cpp")) continue;
    expect_no_line(file, pattern, "what is not built answers by name, in the registry");
  }
}

TEST(Rooms, the_library_never_prints_exits_or_aborts) {
  const std::regex pattern(
      "std::(cout|cerr|clog)\\b|\\b(f|v|vf)?printf\\s*\\(|\\bfmt::print\\b|\\bputs\\s*\\(|"
      "(^|[^.>\\w])(std::)?(exit|_exit|abort|quick_exit)\\s*\\(|\\bMPI_Init\\b|\\bsigaction\\b|"
      "\\bstd::signal\\b");
  for (const auto& file : tree())
    if (below(file, "src/")) expect_no_line(file, pattern, "the library never prints or exits");
}

// Law 1, one owner: what would hand out memory behind the arena's back.
TEST(Rooms, only_devices_ask_the_system_for_memory) {
  const std::regex pattern(
      "\\b(malloc|calloc|realloc|aligned_alloc|posix_memalign|memalign|mmap|mmap64)\\s*\\(");
  for (const auto& file : tree())
    if (below(file, "src/") && !below(file, "src/backend/"))
      expect_no_line(file, pattern,
                     "tensor memory comes from the arena; weights are read, not mapped");
}

TEST(Rooms, lifetimes_in_memory_ops_and_model_are_scopes) {
  const std::regex pattern("\\bshared_ptr\\b|\\bmake_shared\\b");
  for (const auto& file : tree())
    if (file.room == "memory" || file.room == "ops" || file.room == "model")
      expect_no_line(file, pattern, "a lifetime is a C++ scope, no shared_ptr here");
}

// A source file whose header stands beside it may leave the words to the header.
TEST(Rooms, every_file_says_what_it_holds) {
  std::set<std::string> paths;
  for (const auto& file : tree()) paths.insert(file.path);
  for (const auto& file : tree()) {
    ASSERT_FALSE(file.lines.empty()) << file.path << " is empty";
    const std::string header = file.path.substr(0, file.path.rfind('.')) + ".h";
    if (file.is_header() || !paths.contains(header)) {
      EXPECT_TRUE(file.lines[0].starts_with("//"))
          << file.path << " opens with two to six lines: what it holds and the law it keeps";
    }
    // Highway includes an -inl.h once for each instruction set.
    if (file.is_header() && !file.path.ends_with("-inl.h")) {
      EXPECT_NE(std::find(file.lines.begin(), file.lines.end(), "#pragma once"), file.lines.end())
          << file.path << " lacks #pragma once";
    }
  }
}

TEST(Rooms, no_file_is_a_drawer_for_everything) {
  const std::regex pattern("(^|[/_])(utils?|helpers?|managers?|common|misc)([_/.]|$)");
  for (const auto& file : tree())
    EXPECT_FALSE(std::regex_search(file.path, pattern)) << file.path << ": name what it holds";
}

TEST(Rooms, the_reader_of_source_lines_skips_prose) {
  EXPECT_EQ(code_of("x = \"malloc(\"; // malloc("), "x = ; ");
  EXPECT_EQ(code_of("call(\"a\\\"b\", 1)"), "call(, 1)");
}

}  // namespace
}  // namespace cairn::testing
