// One instruction set of those that this machine has, for a test that goes through them.
#pragma once

#include <cstdint>

#include "hwy/targets.h"

namespace cairn::test {

// Restricts run-time dispatch to a target of Highway while it lives; 0: the best.
class OnlyTarget {
 public:
  explicit OnlyTarget(int64_t target) { choose(target); }
  ~OnlyTarget() { choose(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;

 private:
  static void choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();  // the next call chooses
  }
};

}  // namespace cairn::test
