#include "readable.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/utf8.h"

namespace cairn::program {
namespace {

constexpr std::string_view kBlank = " \t\n";
constexpr size_t kLongestWord = 1000;

// Its first and last parts, so that a path keeps its file's name.
std::string shortened(std::string_view word) {
  if (word.size() <= kLongestWord) return std::string(word);
  constexpr size_t kPart = kLongestWord / 4;
  return fmt::format("{}[... {} bytes ...]{}", word.substr(0, kPart), word.size() - 2 * kPart,
                     word.substr(word.size() - kPart));
}

std::string without_control(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool control = (byte < 0x20 && kBlank.find(letter) == kBlank.npos) || byte == 0x7f;
    out += control ? fmt::format("\\x{:02x}", byte) : std::string(1, letter);
  }
  return out;
}

}  // namespace

std::string readable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t word = std::min(text.find_first_of(kBlank), text.size());
    out += shortened(text.substr(0, word));
    text.remove_prefix(word);
    const size_t blank = std::min(text.find_first_not_of(kBlank), text.size());
    out += text.substr(0, blank);
    text.remove_prefix(blank);
  }
  return replace_invalid_utf8(without_control(out));
}

}  // namespace cairn::program
