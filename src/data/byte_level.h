// The byte-level alphabet: GPT-2's way to write each byte as a printable character, so that a
// vocabulary of text can hold any bytes. Inside Cairn pieces stay bytes; only files speak it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cairn {

// The pattern that ByteLevel splits by when it is told to use its own.
extern const char* const kByteLevelPattern;

// "Ġthe" -> " the". Nothing when a character is not of the alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view token);

}  // namespace cairn
