#include "ops/softcap.h"

#include "ops/check.h"

namespace cairn::ops {

void softcap(const Exec& exec, float cap, View inout) {
  check_float("softcap", "inout", inout);
  CAIRN_CHECK(cap > 0, "[softcap] wanted a cap above 0, got {}", cap);
  exec.kernels().softcap(exec.stream, cap, inout);
}

}  // namespace cairn::ops
