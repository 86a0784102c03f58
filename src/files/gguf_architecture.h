// The architectures of GGUF files that Cairn knows, and what transformers calls them.
#pragma once

#include <string_view>

#include "files/gguf.h"

namespace cairn {

struct GgufArchitecture {
  std::string_view name;  // general.architecture
  std::string_view model_type;
  std::string_view model_class;
  // Whether the converter turned rows of q and k to interleaved pairs (spec: ggml's NORM rope).
  bool interleaved = false;
  bool gemma = false;  // norms are stored with the 1 that they add, and have names of their own
  bool fused = false;  // q, k, v in one product, gate and up in another
};

// Throws UserError that names the ones known.
const GgufArchitecture& architecture_of(const GgufFile& gguf);

}  // namespace cairn
