// What paging of optimizer states costs: updates of one model by one optimizer with its states in
// three places, in turns.
#pragma once

#include <chrono>
#include <vector>

#include "backend/registry.h"
#include "base/bytes.h"
#include "median.h"
#include "train/optimizers/optimizer_settings.h"

namespace cairn::program {

// Less than the states of the model take in either coding.
inline constexpr int64_t kLittlePageResident = 32 * kMiB;

struct PagingCost {
  const char* name;
  int64_t parameters = 0, page_bytes = 0;
  std::vector<double> resident = {}, fitting = {}, moving = {};  // seconds of an update

  double overhead() const { return median(fitting) / median(resident) - 1; }
  // There and back.
  double page_rate() const { return 2 * static_cast<double>(page_bytes) / median(moving); }
};

void measure_paging(Backend& backend, StateCoding coding, int repeats, PagingCost& cost);

template <typename Body>
double seconds_of(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace cairn::program
