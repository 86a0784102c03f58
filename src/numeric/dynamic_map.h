// The dynamic maps of bitsandbytes' 8-bit block codes (Dettmers et al., 2022): seven decades of
// magnitude, the larger ones divided finer.
#pragma once

#include <array>

namespace cairn {

// 256 values in rising order, from -0.993 to 1; 0 has code 127.
std::array<float, 256> make_signed_dynamic_map();

}  // namespace cairn
