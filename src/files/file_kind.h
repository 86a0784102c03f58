// What a file really is, told from its first bytes: an interrupted clone, an error page or another
// format is named as such instead of being read as numbers.
#pragma once

#include <optional>
#include <string>

#include "files/input_file.h"

namespace cairn {

enum class WantedKind { safetensors, gguf, json };

// The whole sentence to refuse the file with, when it is recognised as something other than wanted.
std::optional<std::string> refusal_of_kind(const InputFile& file, WantedKind wanted);

}  // namespace cairn
