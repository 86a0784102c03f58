// What the command line of `cairn ladder` says, and what it makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/ladder.h"

namespace cairn::program {

struct LadderOptions {
  std::string model, method = "lora", svg;
  std::optional<std::string> budget;
  int64_t sequence = 2048, batch = 1;
  std::optional<int64_t> mean_sample;
  int threads = 0;
  int repeats = 3;
  std::optional<int64_t> rung;  // measure this one in this process
  bool run = false;
  bool json = false;
};

// Everything that the rungs are made of. Throws UserError.
struct LadderInput {
  TrainSpec spec;
  LadderShape shape;
  TargetProfile profile;
  int64_t budget_bytes = 0;
};
LadderInput read_ladder_input(const LadderOptions& options);

}  // namespace cairn::program
