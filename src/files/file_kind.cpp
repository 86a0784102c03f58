#include "files/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace cairn {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  std::string_view kind;
};

constexpr std::array kMagics = {
    Magic{"PK\x03\x04"sv, "a zip archive (as PyTorch's .bin and .pt checkpoints are)"},
    Magic{"PK\x05\x06"sv, "an empty zip archive"},
    Magic{"GGUF"sv, "a GGUF file"},
    Magic{"lmgg"sv, "a legacy GGML file"},
    Magic{"tjgg"sv, "a legacy GGML file (ggjt)"},
    Magic{"fmgg"sv, "a legacy GGML file (ggmf)"},
    Magic{"algg"sv, "a legacy GGML adapter (ggla)"},
    Magic{"\x89HDF"sv, "an HDF5 file"},
    Magic{"\x93NUMPY"sv, "a NumPy array"},
    Magic{"\x1f\x8b"sv, "a gzip archive"},
    Magic{"\x28\xb5\x2f\xfd"sv, "a Zstandard archive"},
    Magic{"7z\xbc\xaf"sv, "a 7-Zip archive"},
    Magic{"\xfd"
          "7zXZ"sv,
          "an xz archive"},
    Magic{"BZh"sv, "a bzip2 archive"},
    Magic{"%PDF"sv, "a PDF document"},
    Magic{"\x7f"
          "ELF"sv,
          "a program (ELF)"},
};

std::string lower_case_start(std::string_view head) {
  const size_t first = std::min(head.find_first_not_of(" \t\r\n\xef\xbb\xbf"), head.size());
  std::string text(head.substr(first, 64));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

bool is_printable(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

std::string first_line(std::string_view head) {
  return std::string(head.substr(0, std::min<size_t>(head.find_first_of("\r\n"), 60)));
}

bool looks_like_pickle(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

// The noun phrase for what `head` begins, or nothing.
std::optional<std::string> recognise(std::string_view head, WantedKind wanted) {
  for (const Magic& magic : kMagics)
    if (head.starts_with(magic.bytes)) return std::string(magic.kind);
  if (looks_like_pickle(head)) return "a Python pickle (as PyTorch's .bin and .pt checkpoints are)";
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return "a tar archive";
  const std::string start = lower_case_start(head);
  for (std::string_view tag : {"<html"sv, "<!doctype"sv, "<head"sv, "<body"sv})
    if (start.starts_with(tag)) return "an HTML page (an error page saved in place of the file)";
  if (start.starts_with("<?xml") || start.starts_with("<error")) return "an XML document";
  if (std::all_of(head.begin(), head.end(), [](char byte) { return byte == 0; }))
    return "nothing but zero bytes";
  if (wanted == WantedKind::json) return std::nullopt;
  if (start.starts_with('{') || start.starts_with('[')) return "JSON text";
  if (is_printable(head)) return fmt::format("plain text (\"{}\")", first_line(head));
  return std::nullopt;
}

std::string_view name_of(WantedKind wanted) {
  switch (wanted) {
    case WantedKind::safetensors:
      return "a safetensors file";
    case WantedKind::gguf:
      return "a GGUF file";
    case WantedKind::json:
      return "JSON text";
  }
  return "";
}

}  // namespace

std::optional<std::string> refusal_of_kind(const InputFile& file, WantedKind wanted) {
  if (file.size() == 0)
    return fmt::format("{} is an empty file, not {}: download it again.", file.path(),
                       name_of(wanted));
  std::array<char, 512> buffer{};
  const auto bytes = static_cast<size_t>(std::min<int64_t>(file.size(), buffer.size()));
  file.read(0, std::as_writable_bytes(std::span(buffer.data(), bytes)));
  const std::string_view head(buffer.data(), bytes);
  if (lower_case_start(head).starts_with("version https://git-lfs"))
    return fmt::format(
        "{} is a Git LFS pointer, not {}: run \"git lfs pull\" where it was cloned, or "
        "download the file itself.",
        file.path(), wanted == WantedKind::json ? "the file it stands for" : "weights");
  const std::optional<std::string> kind = recognise(head, wanted);
  if (!kind) return std::nullopt;
  return fmt::format("{} is {}, not {}: give the right file, or download it again.", file.path(),
                     *kind, name_of(wanted));
}

}  // namespace cairn
