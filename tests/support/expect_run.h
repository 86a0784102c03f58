// What two runs must have in common.
#pragma once

#include <gtest/gtest.h>

#include "support/small_run.h"

namespace cairn::test {

inline void expect_same_bits(const RunResult& a, const RunResult& b) {
  ASSERT_EQ(a.outcomes.size(), b.outcomes.size());
  for (size_t i = 0; i < a.outcomes.size(); ++i) {
    EXPECT_EQ(a.outcomes[i].loss, b.outcomes[i].loss);
    EXPECT_EQ(a.outcomes[i].gradient_norm, b.outcomes[i].gradient_norm);
  }
  EXPECT_EQ(a.eval_losses, b.eval_losses);
  EXPECT_EQ(a.trained, b.trained);
}

}  // namespace cairn::test
