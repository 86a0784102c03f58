// Pass: one batch on its way through the model. Tensors are taken at capacity, work is done on the
// prefix that this batch fills: shape decides, data never.
#pragma once

#include "memory/page_store.h"
#include "model/parameter_store.h"
#include "ops/exec.h"

namespace cairn {

class GradientStore;

// How much a batch holds, or the most that any batch of the run will hold.
struct Extent {
  int64_t tokens = 0;           // rows of the batch, samples joined end to end
  int64_t segments = 0;         // samples
  int64_t labelled_rows = 0;    // rows whose next token is trained on
  int64_t longest_segment = 0;  // tokens of the longest sample
};

struct Pass {
  const Exec& exec;
  Extent capacity;
  Extent extent;
  DType activation = DType::f32;  // storage of whatever forward leaves behind
  ConstView ids;                  // [tokens] i32
  ConstView positions;            // [tokens] i32
  ConstView cu_segments;          // [segments + 1] i32
  ConstView labelled_rows;        // [labelled_rows] i32
  ConstView labels;               // [labelled_rows] i32
  ConstView rope_table;           // [positions, rotary width / 2, 2] f32
  ConstView local_rope_table{};   // the same, of layers with a window that turn by another base
  ConstView samples{};            // [tokens] i32, the key of dropout; none: nothing is dropped
  uint64_t dropout_seed = 0;      // of the step
  PageStore* pages = nullptr;     // for block inputs that page, or none
  // Takes gradients unit by unit; none: they stay for the run.
  GradientStore* gradients = nullptr;
  ParameterStore* weights = nullptr;  // none: they are in memory

  int64_t tokens() const { return extent.tokens; }
  // Call before a unit is used, and after the last one.
  void open_weights(size_t unit) const {
    if (weights) weights->open(unit);
  }
  void close_weights() const {
    if (weights) weights->close();
  }

  // [capacity.tokens, columns] of the activations account, in the activation type.
  Tensor make_activation(std::string_view label, int64_t columns) const {
    return exec.make(Account::activations, label, activation, {capacity.tokens, columns});
  }
  // [capacity.tokens, columns] f32, forward's statistics.
  Tensor make_statistic(std::string_view label, int64_t columns) const {
    return exec.make(Account::activations, label, DType::f32, {capacity.tokens, columns});
  }
  // [capacity.tokens, columns] f32: a gradient in flight.
  Tensor make_gradient(std::string_view label, int64_t columns) const {
    return exec.make(Account::workspace, label, DType::f32, {capacity.tokens, columns});
  }
  // The rows of `tensor` that this batch fills.
  View filled(Tensor& tensor) const { return tensor.view_rows(tokens()); }
  ConstView filled(const Tensor& tensor) const { return tensor.view_rows(tokens()); }
};

}  // namespace cairn
