// The instruction set that the kernels run on: the processor's best, or AVX2 where the environment
// variable CAIRN_SIMD says so, to see on one machine what another will do.
#pragma once

#include <string_view>

namespace cairn::cpu {

// Before the first kernel; later calls do nothing. Throws UserError for a word that is none.
void choose_instruction_set();

// "AVX3" (which is AVX-512), "AVX2" or "EMU128" (plain C++), as Highway calls them.
std::string_view instruction_set();

}  // namespace cairn::cpu
