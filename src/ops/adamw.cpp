#include "ops/adamw.h"

#include "ops/block_codes.h"
#include "ops/check.h"

namespace cairn::ops {

void adamw(const Exec& exec, const AdamW& settings, ConstView gradient, View weight, View master,
           View m, View v) {
  check_trained("adamw", gradient, weight, master, settings.first);
  for (const auto& [name, view] : {std::pair("m", m), std::pair("v", v)}) {
    check_float("adamw", name, view);
    check_elements("adamw", name, view, weight.elements());
  }
  exec.kernels().adamw(exec.stream, settings, gradient, weight, master, m, v);
}

void adamw_8bit(const Exec& exec, const AdamW& settings, ConstView gradient, View weight,
                View master, const BlockCodes& m, const BlockCodes& v) {
  check_trained("adamw_8bit", gradient, weight, master, settings.first);
  check_block_codes("adamw_8bit", "m", m, weight.elements());
  check_block_codes("adamw_8bit", "v", v, weight.elements());
  exec.kernels().adamw_8bit(exec.stream, settings, gradient, weight, master, m, v);
}

}  // namespace cairn::ops
