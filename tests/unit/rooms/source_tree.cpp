// Reads the source tree below CAIRN_SOURCE_DIR.
#include "unit/rooms/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;

std::string room_of(const std::string& path) {
  if (path.starts_with("apps/")) return "apps";
  if (path.starts_with("include/")) return "cairn";
  const size_t begin = std::string("src/").size();
  return path.substr(begin, path.find('/', begin) - begin);
}

// The name between the quotes of an #include "..." line, else nothing.
std::string quoted_include(const std::string& line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return {};
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return {};
  const size_t open = line.find('"', at);
  const size_t close = open == std::string::npos ? open : line.find('"', open + 1);
  return close == std::string::npos ? std::string{} : line.substr(open + 1, close - open - 1);
}

SourceFile read_file(const fs::path& root, const fs::path& file) {
  SourceFile source;
  source.path = fs::relative(file, root).generic_string();
  source.room = room_of(source.path);
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (std::string name = quoted_include(line); !name.empty()) source.includes.push_back(name);
    source.lines.push_back(std::move(line));
  }
  return source;
}

}  // namespace

std::vector<SourceFile> read_source_tree() {
  const fs::path root = CAIRN_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* folder : {"src", "apps", "include"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp") files.push_back(read_file(root, entry.path()));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::string code_of(const std::string& line) {
  std::string code;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
      continue;
    }
    if (c == '/' && i + 1 < line.size() && line[i + 1] == '/') break;
    if (c == '"')
      quote = c;
    else
      code += c;
  }
  return code;
}

}  // namespace cairn::testing
