// By the table of well-formed sequences (Unicode 15, table 3-7).
#include "base/utf8.h"

namespace cairn {
namespace {

struct LeadByte {
  size_t bytes;                 // of the sequence, 0 when it cannot begin one
  unsigned char second_lowest;  // bounds of the second byte: no overlong forms, no surrogates
  unsigned char second_highest;
};

LeadByte lead_byte(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const LeadByte lead = lead_byte(byte(0));
  if (lead.bytes == 1) return {byte(0), 1, true};
  if (lead.bytes == 0) return {0, 1, false};
  char32_t value = byte(0) & (0x7Fu >> lead.bytes);
  for (size_t i = 1; i < lead.bytes; ++i) {
    const unsigned char lowest = i == 1 ? lead.second_lowest : 0x80;
    const unsigned char highest = i == 1 ? lead.second_highest : 0xBF;
    if (i >= text.size() || byte(i) < lowest || byte(i) > highest) return {0, i, false};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  return {value, lead.bytes, true};
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.valid) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

}  // namespace cairn
