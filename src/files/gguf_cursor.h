// A bounded walk through a GGUF's head: nothing is read or allocated that the file does not hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "files/input_file.h"

namespace cairn {

class GgufCursor {
 public:
  explicit GgufCursor(const InputFile& file) : file_(file) {}

  int64_t position() const { return position_; }
  uint64_t remaining() const { return static_cast<uint64_t>(file_.size() - position_); }
  const std::string& path() const { return file_.path(); }

  template <typename T>
  T take(std::string_view what) {
    static_assert(std::is_trivially_copyable_v<T>);
    require(sizeof(T), what);
    T value;
    take_bytes(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }

  // u64 length and that many bytes.
  std::string take_string(std::string_view what) {
    const auto length = take<uint64_t>(what);
    require(length, what);
    if (length > kMaxStringBytes)
      throw DamagedFile(fmt::format("{} claims {} bytes for {}, where {} is the most.", path(),
                                    length, what, kMaxStringBytes));
    std::string text(length, '\0');
    take_bytes(text.data(), length);
    return text;
  }

  // Throws unless `bytes` are left.
  void require(uint64_t bytes, std::string_view what) const {
    if (bytes > remaining())
      throw DamagedFile(
          fmt::format("{} is cut short or damaged: {} at byte {} needs {} bytes, but only {} "
                      "are left.",
                      path(), what, position_, bytes, remaining()));
  }
  // Throws unless `count` things of at least `least_bytes` each may be left.
  void require_count(uint64_t count, uint64_t least_bytes, std::string_view what) const {
    if (count > remaining() / least_bytes)
      throw DamagedFile(
          fmt::format("{} is cut short or damaged: it claims {} {} at byte {}, but only {} "
                      "bytes are left.",
                      path(), count, what, position_, remaining()));
  }

 private:
  // Templates and chat vocabularies stay far below; the format's own readers allow 2^30.
  static constexpr uint64_t kMaxStringBytes = uint64_t{1} << 26;

  void take_bytes(char* out, uint64_t bytes) {
    while (bytes > 0) {
      if (position_ < window_begin_ || position_ >= window_end_) refill();
      const auto here = std::min<uint64_t>(bytes, static_cast<uint64_t>(window_end_ - position_));
      std::memcpy(out, window_.data() + (position_ - window_begin_), here);
      out += here;
      bytes -= here;
      position_ += static_cast<int64_t>(here);
    }
  }
  void refill() {
    window_begin_ = position_;
    window_end_ = std::min<int64_t>(file_.size(), position_ + static_cast<int64_t>(window_.size()));
    file_.read(window_begin_,
               std::span(window_.data(), static_cast<size_t>(window_end_ - window_begin_)));
  }

  const InputFile& file_;
  int64_t position_ = 0;
  int64_t window_begin_ = 0;
  int64_t window_end_ = 0;
  std::array<std::byte, 32 * 1024> window_;
};

}  // namespace cairn
