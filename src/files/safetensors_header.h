// The header of a safetensors file: parsed strictly, and checked until every tensor is known to lie
// in the file, next to its neighbours, without holes or overlap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/tensor_source.h"

namespace cairn {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in order of offset; offsets count from the file's beginning
  std::map<std::string, std::string> metadata;
};

// `text`: the JSON alone. `file_bytes`: the size of the file `path`, whose data follow 8 + text
// bytes from its beginning. Throws DamagedFile.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_bytes,
                                           const std::string& path);

}  // namespace cairn
