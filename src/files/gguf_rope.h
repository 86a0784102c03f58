// Rotary scaling as a GGUF tells it: by keys, or by divisors that lie among its tensors.
#pragma once

#include <nlohmann/json.hpp>

#include "files/gguf_section.h"

namespace cairn {

// rope_scaling of a config.json, null if there is none. Throws UserError for a kind that Cairn does
// not compute.
nlohmann::json gguf_rope_scaling(const GgufSection& section, double theta);

// Whether a tensor holds such divisors and is no weight.
inline bool is_gguf_rope_tensor(std::string_view name) {
  return name == "rope_freqs.weight" || name == "rope_factors_short.weight" ||
         name == "rope_factors_long.weight";
}

}  // namespace cairn
