// Split GGUF models: NAME-00001-of-00003.gguf holds the metadata, the files after it more tensors.
// Source: llama.cpp's gguf-split.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "files/gguf.h"

namespace cairn {

struct SplitName {
  std::string prefix;           // with its folder
  int64_t part = 0, count = 0;  // from 1

  std::string of_part(int64_t number) const;
};

// None for a name of another form.
std::optional<SplitName> parse_split_name(const std::string& path);

// The first file if `paths` are all the parts of one model and nothing else.
std::optional<std::string> first_of_split(const std::vector<std::string>& paths);

// A file with its other parts, if it is the first of a split model. Throws UserError for another
// part than the first, DamagedFile for parts that are missing or do not belong together.
GgufFile open_gguf_parts(const std::string& path);

}  // namespace cairn
