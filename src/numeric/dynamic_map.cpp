#include "numeric/dynamic_map.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cairn {

std::array<float, 256> make_signed_dynamic_map() {
  std::array<float, 256> map{};
  size_t count = 0;
  for (int decade = 0; decade < 7; ++decade) {
    const int parts = 1 << decade;
    const double scale = std::pow(10.0, decade - 6);
    for (int part = 0; part < parts; ++part) {
      const double middle = 0.1 + 0.9 * (part + 0.5) / parts;
      const auto value = static_cast<float>(scale * middle);
      map[count++] = value;
      map[count++] = -value;
    }
  }
  map[count++] = 0.0f;
  map[count++] = 1.0f;
  std::sort(map.begin(), map.end());
  return map;
}

}  // namespace cairn
