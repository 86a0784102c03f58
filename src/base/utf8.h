// Reading UTF-8: code points one by one, and whether bytes are UTF-8 at all.
#pragma once

#include <cstddef>
#include <string_view>

namespace cairn {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;    // read, at least 1 unless the text is empty
  bool valid = false;  // if not, `bytes` is the length of the broken part
};

CodePoint first_code_point(std::string_view text);
bool is_valid_utf8(std::string_view text);

}  // namespace cairn
