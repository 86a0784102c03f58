// Exec is what ops are handed: where to run, in which order, and where scratch comes from.
#pragma once

#include <string_view>

#include "backend/backend.h"
#include "memory/tensor.h"

namespace cairn {

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
