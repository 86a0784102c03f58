// Figures as people read them: counts with separators, durations, and the width that text takes on
// a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

// "1,234,567"
std::string format_count(int64_t count);

// "0:42", "12:05", "1:02:03", "2 d 03:04:05"; "-:--" if the seconds are not known (negative, not
// finite).
std::string format_duration(double seconds);

// Columns on a terminal: wide characters of East Asia and emoji take two, combining marks none.
// Bytes that are no UTF-8 take one each.
int display_width(std::string_view text);

// `part` of `whole` as a bar of at most `columns` characters: "####...."; at least one # for a
// positive part.
std::string format_bar(double part, double whole, int columns);

}  // namespace cairn
