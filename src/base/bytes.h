// Byte counts: rounding, and the two ways people write them. GiB is 2^30, GB is 10^9, a bare G
// means GiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr int64_t ceil_div(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// "24GiB", "24 GB", "512MiB", "1.5G", "1048576". Throws UserError with what was expected.
int64_t parse_bytes(std::string_view text);

// "1.50 GiB", "12.0 MiB", "640 B": for people; JSON carries the exact count.
std::string format_bytes(int64_t bytes);

}  // namespace cairn
