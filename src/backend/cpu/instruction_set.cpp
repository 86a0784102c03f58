// Chooses once for the process, as Highway's and oneDNN's own choices are made.
#include "backend/cpu/instruction_set.h"

#include <cstdlib>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/instruction_set.cpp"
#include "backend/cpu/simd_targets.h"
// The targets come first.
#include "hwy/foreach_target.h"
// Then what is compiled for each of them.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cairn::cpu::HWY_NAMESPACE {

const char* name_of_target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace cairn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/gemm/onednn.h"
#include "base/error.h"

namespace cairn::cpu {
namespace {

HWY_EXPORT(name_of_target);

bool hold_to_environment() {
  const char* const word = std::getenv("CAIRN_SIMD");
  if (!word || !*word) return false;
  if (std::string_view(word) != "avx2")
    throw UserError(fmt::format(
        "the environment variable CAIRN_SIMD is '{}'; write avx2, or unset it for the best "
        "instruction set of this processor",
        word));
  // A better instruction set is a lower bit.
  hwy::DisableTargets(HWY_AVX2 - 1);
  hold_onednn_to_avx2();
  return true;
}

}  // namespace

void choose_instruction_set() { [[maybe_unused]] static const bool held = hold_to_environment(); }

std::string_view instruction_set() { return HWY_DYNAMIC_DISPATCH(name_of_target)(); }

}  // namespace cairn::cpu
#endif  // HWY_ONCE
