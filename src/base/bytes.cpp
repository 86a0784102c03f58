#include "base/bytes.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace cairn {
namespace {

// The factor of a unit, or 0 if it is none we know.
double unit_factor(std::string unit) {
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.empty() || unit == "b") return 1;
  const std::string_view letters = "kmgt";
  const size_t power = letters.find(unit[0]);
  if (power == std::string_view::npos) return 0;
  const std::string rest = unit.substr(1);
  if (rest.empty() || rest == "i" || rest == "ib")
    return std::ldexp(1.0, 10 * (static_cast<int>(power) + 1));
  if (rest == "b") return std::pow(1000.0, static_cast<double>(power) + 1);
  return 0;
}

}  // namespace

int64_t parse_bytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  std::string unit;
  for (const char* c = rest; c != end; ++c)
    if (!std::isspace(static_cast<unsigned char>(*c))) unit += *c;
  const double bytes = number * unit_factor(unit);
  if (status != std::errc() || !(bytes > 0) || bytes > 9e18)
    throw UserError(fmt::format(
        "'{}' is not an amount of memory; write a number with a unit, such as 24GiB or 800MiB",
        text));
  return static_cast<int64_t>(bytes);
}

std::string format_bytes(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  const double size = std::fabs(value);
  if (size >= kGiB) return fmt::format("{:.2f} GiB", value / kGiB);
  if (size >= kMiB) return fmt::format("{:.1f} MiB", value / kMiB);
  if (size >= kKiB) return fmt::format("{:.1f} KiB", value / kKiB);
  return fmt::format("{} B", bytes);
}

}  // namespace cairn
