// XXH3 in 64 bits (github.com/Cyan4973/xxHash): finds damage, and tells two data sets apart. It is
// no protection against an adversary.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace cairn {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // 16 hexadecimal digits of all that was added.
  std::string text() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string checksum_of(std::string_view text);
// Reads the file through 64 KiB. Throws as InputFile does.
std::string checksum_of_file(const std::string& path);

}  // namespace cairn
