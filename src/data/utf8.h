// UTF-8 beyond base/utf8.h: from its end, written, classes of characters, and bytes that are not
// UTF-8 turned into U+FFFD, one for each maximal broken part as the Unicode standard advises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace cairn {

// Of text known to be valid and not empty.
CodePoint last_code_point(std::string_view text);
void append_code_point(char32_t value, std::string& text);

std::string replace_invalid_utf8(std::string_view text);
// At most so many bytes of valid UTF-8, cut between two characters, "..." behind what was cut.
std::string shortened(std::string_view text, size_t most_bytes);

bool is_white_space(char32_t value);  // the property White_Space
bool is_word(char32_t value);         // \w of Unicode: letters, marks, digits, connectors, joiners
bool is_numeric(char32_t value);      // categories Nd, Nl, No
bool is_punctuation(char32_t value);  // of ASCII, and categories P*

}  // namespace cairn
