// One function for each reader of files that come from outside. Whatever bytes it is given, it
// reads them or throws one of the errors that name what is wrong; anything else is a finding. The
// same functions run over their seeds in every test run, and under libFuzzer by scripts/fuzz.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn::fuzz {

struct Target {
  std::string_view name;  // also the folder of its seeds
  void (*read)(std::string_view input);
};

const std::vector<Target>& targets();

// UserError and DamagedFile are answers, and pass; anything else escapes.
void run(const Target& target, std::string_view input);

}  // namespace cairn::fuzz
