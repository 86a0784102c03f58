// What a file really is, told from its first bytes: an interrupted clone, an error page or another
// format is named as such instead of being read as numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "files/input_file.h"

namespace cairn {

struct FileKind {
  std::string name;       // "a gzip archive"
  bool is_whole = false;  // of another format; else a pointer, an error page or nothing at all
};

// What a file that begins so is, unless it is text or bytes that tell nothing.
std::optional<FileKind> kind_of(std::string_view head);

enum class WantedKind { safetensors, gguf, json };

// The whole sentence to refuse the file with, when it is recognised as something other than wanted.
std::optional<std::string> refusal_of_kind(const InputFile& file, WantedKind wanted);

}  // namespace cairn
