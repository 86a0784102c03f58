// The instruction sets that SIMD kernels are compiled for: AVX-512, AVX2, and plain C++ for
// everything older. Included before hwy/foreach_target.h; the best one is chosen at run time.
#pragma once

#include "hwy/detect_targets.h"

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
