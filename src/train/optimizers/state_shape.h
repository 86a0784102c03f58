// StateShape: which states a stretch of a parameter has and how they lie in one run of bytes, the
// same in the arena and in a page file.
#pragma once

#include "backend/kernels.h"
#include "train/optimizers/optimizer_settings.h"

namespace cairn {

// Views into the bytes of one stretch. What the shape has not is empty.
struct StateViews {
  View master;                // [n] f32
  View m, v;                  // [n] f32 or bf16
  BlockCodes m_8bit, v_8bit;  // of n elements
};

struct StateShape {
  StateCoding coding = StateCoding::f32;  // of the moments
  bool moments = false;
  bool master = false;  // in f32, whatever the moments are
  int64_t elements = 0;

  // No padding between the states; the wider types come first, so each is aligned.
  int64_t bytes() const { return master_bytes() + moment_bytes(); }
  int64_t master_bytes() const;
  int64_t moment_bytes() const;
  StateViews view(std::byte* memory) const;
};

}  // namespace cairn
