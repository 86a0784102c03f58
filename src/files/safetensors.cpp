#include "files/safetensors.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "files/file_kind.h"
#include "files/safetensors_header.h"
#include "files/tensor_reader.h"

namespace cairn {
namespace {

constexpr int64_t kLengthBytes = 8;
static_assert(std::endian::native == std::endian::little, "file formats are little-endian");

// The header's JSON, once its length is known to be sensible. What is no safetensors file is named
// for what it is, but only after its first bytes failed to make sense: a length may look like any
// magic.
std::string read_header_text(const InputFile& file) {
  const auto refuse = [&file](const std::string& otherwise) {
    throw DamagedFile(refusal_of_kind(file, WantedKind::safetensors).value_or(otherwise));
  };
  const int64_t size = file.size();
  if (size < kLengthBytes)
    refuse(fmt::format("{} has {} bytes, too few for a safetensors file: download it again.",
                       file.path(), size));
  uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader))
    refuse(
        fmt::format("{} claims a safetensors header of {} bytes, where the format allows {}: "
                    "give the right file, or download it again.",
                    file.path(), length, kMaxSafetensorsHeader));
  if (static_cast<int64_t>(length) > size - kLengthBytes)
    refuse(
        fmt::format("{} is cut short: its safetensors header has {} bytes, but only {} follow its "
                    "length: download it again.",
                    file.path(), length, size - kLengthBytes));
  if (length == 0) refuse(fmt::format("{} has an empty safetensors header.", file.path()));
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  if (text.front() != '{')
    refuse(fmt::format(
        "{} has a safetensors header that does not begin with '{{': give the right file, "
        "or download it again.",
        file.path()));
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : file_(std::move(path)) {
  const std::string text = read_header_text(file_);
  SafetensorsHeader header = parse_safetensors_header(text, file_.size(), file_.path());
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

void SafetensorsFile::read_rows(const TensorInfo& info, int64_t first_row, int64_t row_count,
                                View out, std::span<std::byte> scratch) const {
  read_tensor_rows(file_, info, first_row, row_count, out, scratch);
}

void SafetensorsFile::read_bytes(const TensorInfo& info, int64_t begin,
                                 std::span<std::byte> out) const {
  CAIRN_CHECK(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= info.bytes,
              "[read_bytes] wanted bytes within {} of {}, got {} from {}", info.bytes, info.name,
              out.size(), begin);
  file_.read(info.offset + begin, out);
}

}  // namespace cairn
