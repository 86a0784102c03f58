// UTF-8 by the table of well-formed sequences (Unicode 15, table 3-7), and four character classes.
#include "data/utf8.h"

#include <utf8proc.h>

#include "base/error.h"

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

CodePoint last_code_point(std::string_view text) {
  CAIRN_CHECK(!text.empty(), "[utf8] wanted text, got none");
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return first_code_point(text.substr(begin));
}

void append_code_point(char32_t value, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(value), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.valid) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.valid)
      valid.append(text.substr(0, point.bytes));
    else
      append_code_point(0xFFFD, valid);
    text.remove_prefix(point.bytes);
  }
  return valid;
}

bool is_white_space(char32_t value) {
  return (value >= 0x09 && value <= 0x0D) || value == 0x20 || value == 0x85 || value == 0xA0 ||
         value == 0x1680 || (value >= 0x2000 && value <= 0x200A) || value == 0x2028 ||
         value == 0x2029 || value == 0x202F || value == 0x205F || value == 0x3000;
}

bool is_word(char32_t value) {
  if (value == 0x200C || value == 0x200D || (value >= 0x24B6 && value <= 0x24E9)) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

bool is_numeric(char32_t value) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

bool is_punctuation(char32_t value) {
  if (value < 0x80)
    return (value >= 0x21 && value <= 0x2F) || (value >= 0x3A && value <= 0x40) ||
           (value >= 0x5B && value <= 0x60) || (value >= 0x7B && value <= 0x7E);
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

}  // namespace cairn
