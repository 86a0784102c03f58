#include "ops/sgd.h"

#include "ops/check.h"

namespace cairn::ops {

void sgd(const Exec& exec, const Sgd& settings, ConstView gradient, View weight, View master) {
  check_trained("sgd", gradient, weight, master, settings.first);
  exec.kernels().sgd(exec.stream, settings, gradient, weight, master);
}

}  // namespace cairn::ops
