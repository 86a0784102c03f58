#include "ops/adamw.h"

#include "ops/check.h"

namespace cairn::ops {

void adamw(const Exec& exec, const AdamW& settings, ConstView gradient, View weight, View master,
           View m, View v) {
  const auto check = [&](std::string_view name, ConstView view) {
    check_float("adamw", name, view);
    check_elements("adamw", name, view, weight.elements());
  };
  check("gradient", gradient);
  check("weight", weight);
  check("m", m);
  check("v", v);
  if (master) {
    check_dtype("adamw", "master", master, DType::f32);
    check_elements("adamw", "master", master, weight.elements());
  }
  exec.kernels().adamw(exec.stream, settings, gradient, weight, master, m, v);
}

}  // namespace cairn::ops
