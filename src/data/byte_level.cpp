// The alphabet: bytes that print keep their code point, the other 68 take U+0100 onwards in order.
#include "data/byte_level.h"

#include <array>

#include "data/utf8.h"

namespace cairn {

const char* const kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

constexpr int kCharacters = 0x100 + 68;

bool prints(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// Code point -> byte, -1 where none.
std::array<int, kCharacters> make_alphabet() {
  std::array<int, kCharacters> alphabet;
  alphabet.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 0x100; ++byte)
    alphabet[static_cast<size_t>(prints(byte) ? byte : next++)] = byte;
  return alphabet;
}

}  // namespace

std::optional<std::string> bytes_from_alphabet(std::string_view token) {
  static const std::array<int, kCharacters> kAlphabet = make_alphabet();
  std::string bytes;
  bytes.reserve(token.size());
  while (!token.empty()) {
    const CodePoint point = first_code_point(token);
    const int byte = point.valid && point.value < kCharacters ? kAlphabet[point.value] : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    token.remove_prefix(point.bytes);
  }
  return bytes;
}

}  // namespace cairn
