// Figures as text, and the columns that characters take on a terminal (Unicode Standard Annex 11).
// Ranges are coarse: they cover what model names and data set labels are written in.
#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace cairn {
namespace {

struct CodeRange {
  char32_t first, last;
};

// Unicode's East Asian Width W and F, joined where the gaps are unassigned.
constexpr std::array<CodeRange, 22> kWide = {
    {{0x1100, 0x115F},   {0x231A, 0x231B},  {0x2329, 0x232A}, {0x23E9, 0x23EC}, {0x25FD, 0x25FE},
     {0x2614, 0x2615},   {0x2648, 0x2653},  {0x26A1, 0x26A1}, {0x2705, 0x2705}, {0x274C, 0x274C},
     {0x2753, 0x2757},   {0x2E80, 0x303E},  {0x3041, 0x33FF}, {0x3400, 0x4DBF}, {0x4E00, 0xA4CF},
     {0xA960, 0xA97F},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60},
     {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}}};
// Combining marks, joiners and variation selectors.
constexpr std::array<CodeRange, 9> kNoWidth = {{{0x0300, 0x036F},
                                                {0x0483, 0x0489},
                                                {0x0591, 0x05BD},
                                                {0x064B, 0x065F},
                                                {0x1AB0, 0x1AFF},
                                                {0x200B, 0x200F},
                                                {0x20D0, 0x20FF},
                                                {0xFE00, 0xFE0F},
                                                {0xFE20, 0xFE2F}}};

template <size_t N>
bool within(const std::array<CodeRange, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const CodeRange& range) {
    return code >= range.first && code <= range.last;
  });
}

// The code point at `at`, and how many bytes it takes; a byte that is no UTF-8 stands for itself.
std::pair<char32_t, size_t> decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (length == 1 || at + length > text.size()) return {lead, 1};
  char32_t code = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {lead, 1};
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  return {code, length};
}

}  // namespace

std::string format_count(int64_t count) {
  std::string digits = fmt::format("{}", count);
  const int64_t first = count < 0 ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "-:--";
  const auto whole = static_cast<int64_t>(seconds);
  const int64_t days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days > 0) return fmt::format("{} d {:02}:{:02}:{:02}", days, hours, minutes, whole % 60);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [code, length] = decode(text, at);
    at += length;
    if (within(kNoWidth, code)) continue;
    width += within(kWide, code) ? 2 : 1;
  }
  return width;
}

std::string format_bar(double part, double whole, int columns) {
  const double share = whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
  int full = static_cast<int>(std::lround(share * columns));
  if (part > 0 && full == 0 && columns > 0) full = 1;
  return std::string(static_cast<size_t>(full), '#') +
         std::string(static_cast<size_t>(columns - full), '.');
}

}  // namespace cairn
