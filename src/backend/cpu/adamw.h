// What one chunk of an AdamW update works on.
#pragma once

#include "backend/cpu/floats.h"

namespace cairn::cpu {

struct AdamWParameter {
  FloatsIn gradient;
  FloatsOut weight, master, m, v;  // master may be empty
};

}  // namespace cairn::cpu
