// What one chunk of an 8-bit AdamW update works on.
#pragma once

#include "backend/cpu/block_codes.h"
#include "backend/cpu/floats.h"

namespace cairn::cpu {

struct AdamW8BitParameter {
  FloatsIn gradient;
  FloatsOut weight, master;  // master may be empty
  CodedFloats m, v;
  CodeTables m_tables{true}, v_tables{false};
};

}  // namespace cairn::cpu
