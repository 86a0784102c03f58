// UTF-8: reading code points, and turning bytes that are not UTF-8 into U+FFFD, one for each
// maximal broken part as the Unicode standard advises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;    // read, at least 1 unless the text is empty
  bool valid = false;  // if not, `bytes` is the length of the broken part
};

CodePoint first_code_point(std::string_view text);
// Of text known to be valid and not empty.
CodePoint last_code_point(std::string_view text);
void append_code_point(char32_t value, std::string& text);

bool is_valid_utf8(std::string_view text);
std::string replace_invalid_utf8(std::string_view text);

bool is_white_space(char32_t value);  // the property White_Space
bool is_word(char32_t value);         // \w of Unicode: letters, marks, digits, connectors, joiners
bool is_numeric(char32_t value);      // categories Nd, Nl, No
bool is_punctuation(char32_t value);  // of ASCII, and categories P*

}  // namespace cairn
