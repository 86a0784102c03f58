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
    Magic{"PAR1"sv, "a parquet file"},
    Magic{"ARROW1"sv, "an Arrow file"},
    Magic{"Rar!"sv, "a RAR archive"},
    Magic{"\x04\x22\x4d\x18"sv, "an LZ4 archive"},
    Magic{"\x89PNG"sv, "a PNG picture"},
    Magic{"\xff\xd8\xff"sv, "a JPEG picture"},
    Magic{"\xff\xfe"sv, "UTF-16 text"},
    Magic{"\xfe\xff"sv, "UTF-16 text"},
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

// A header's length, and the first brace of the header.
bool looks_like_safetensors(std::string_view head) {
  return head.size() > 9 && head[8] == '{' && (head[9] == '"' || head[9] == '}') &&
         head.substr(4, 4) == "\0\0\0\0"sv;
}

bool is_pointer(std::string_view head) {
  return lower_case_start(head).starts_with("version https://git-lfs");
}

// Empty if it is none.
std::string kind_of_text(std::string_view head) {
  const std::string start = lower_case_start(head);
  if (start.starts_with('{') || start.starts_with('[')) return "JSON text";
  return is_printable(head) ? fmt::format("plain text (\"{}\")", first_line(head)) : "";
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

std::optional<FileKind> kind_of(std::string_view head) {
  if (is_pointer(head)) return FileKind{"a Git LFS pointer", false};
  for (const Magic& magic : kMagics)
    if (head.starts_with(magic.bytes)) return FileKind{std::string(magic.kind), true};
  if (looks_like_pickle(head))
    return FileKind{"a Python pickle (as PyTorch's .bin and .pt checkpoints are)", true};
  if (looks_like_safetensors(head)) return FileKind{"a safetensors file", true};
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return FileKind{"a tar archive", true};
  const std::string start = lower_case_start(head);
  for (std::string_view tag : {"<html"sv, "<!doctype"sv, "<head"sv, "<body"sv})
    if (start.starts_with(tag))
      return FileKind{"an HTML page (an error page saved in place of the file)", false};
  if (start.starts_with("<?xml") || start.starts_with("<error"))
    return FileKind{"an XML document", false};
  if (!head.empty() && std::all_of(head.begin(), head.end(), [](char byte) { return byte == 0; }))
    return FileKind{"nothing but zero bytes", false};
  return std::nullopt;
}

std::optional<std::string> refusal_of_kind(const InputFile& file, WantedKind wanted) {
  if (file.size() == 0)
    return fmt::format("{} is an empty file, not {}: download it again.", file.path(),
                       name_of(wanted));
  std::array<char, 512> buffer{};
  const auto bytes = static_cast<size_t>(std::min<int64_t>(file.size(), buffer.size()));
  file.read(0, std::as_writable_bytes(std::span(buffer.data(), bytes)));
  const std::string_view head(buffer.data(), bytes);
  if (is_pointer(head))
    return fmt::format(
        "{} is a Git LFS pointer, not {}: run \"git lfs pull\" where it was cloned, or "
        "download the file itself.",
        file.path(), wanted == WantedKind::json ? "the file it stands for" : "weights");
  std::string name;
  if (const auto kind = kind_of(head))
    name = kind->name;
  else if (wanted != WantedKind::json)
    name = kind_of_text(head);
  if (name.empty() || name == name_of(wanted)) return std::nullopt;
  return fmt::format("{} is {}, not {}: give the right file, or download it again.", file.path(),
                     name, name_of(wanted));
}

}  // namespace cairn
