#include "picture.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "files/atomic_file.h"

namespace cairn::program {

void write_picture(const std::string& path, const std::string& svg) {
  constexpr std::string_view kBegin = "<svg";
  std::error_code ignored;  // what cannot be looked at is refused where it is opened
  if (std::filesystem::is_regular_file(path, ignored)) {
    std::string begin(kBegin.size(), ' ');
    std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<long>(begin.size()));
    if (begin != kBegin && std::filesystem::file_size(path, ignored) > 0)
      throw UserError(fmt::format("{} is there and is no picture in SVG; give another path", path));
  }
  write_text(path, svg);
}

}  // namespace cairn::program
