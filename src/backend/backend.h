// Backend = Device + Kernels, and the profile of its target. Exec is what ops are handed: where to run
// and where scratch comes from.
#pragma once

#include <memory>
#include <string_view>

#include "backend/kernels.h"
#include "backend/target_profile.h"
#include "memory/tensor.h"

namespace cairn {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device& device() = 0;
  virtual Kernels& kernels() = 0;
  virtual const TargetProfile& profile() const = 0;
};

struct Exec {
  Backend& backend;
  Arena& arena;
  Stream stream{};

  Kernels& kernels() const { return backend.kernels(); }
  Tensor make(Account account, std::string_view label, DType dtype, Shape shape) const {
    return Tensor(arena, account, label, dtype, shape);
  }
  // Scratch of an op: workspace that dies with the returned tensor.
  Tensor make_scratch(std::string_view label, int64_t bytes) const {
    return Tensor(arena, Account::workspace, label, DType::u8, {bytes});
  }
};

}  // namespace cairn
