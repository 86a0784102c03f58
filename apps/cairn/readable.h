// What an error or a note quotes from a file made fit for a terminal: a name in a file may hold
// anything.
#pragma once

#include <string>
#include <string_view>

namespace cairn::program {

// Control characters as \xNN, bytes that are not UTF-8 replaced, a word of more than 1,000 bytes
// cut in its middle. Lines stay.
std::string readable(std::string_view text);

}  // namespace cairn::program
