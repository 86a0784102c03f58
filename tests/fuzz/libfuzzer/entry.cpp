// libFuzzer's entry. The environment variable CAIRN_FUZZ_TARGET names the target.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/targets.h"

namespace {

const cairn::fuzz::Target& chosen() {
  const char* name = std::getenv("CAIRN_FUZZ_TARGET");
  for (const cairn::fuzz::Target& target : cairn::fuzz::targets())
    if (name && target.name == name) return target;
  std::fprintf(stderr, "fuzz: set CAIRN_FUZZ_TARGET to one of");
  for (const cairn::fuzz::Target& target : cairn::fuzz::targets())
    std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()), target.name.data());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const cairn::fuzz::Target& target = chosen();
  cairn::fuzz::run(target, {reinterpret_cast<const char*>(data), size});
  return 0;
}
