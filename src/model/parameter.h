// Parameter: one named tensor of the model with everything the rest needs to know of it. The list
// of parameters is the single source for loading, optimizer, sharding and saving.
#pragma once

#include <deque>
#include <string>

#include "memory/tensor.h"
#include "model/quantisation.h"

namespace cairn {

struct Parameter {
  std::string name;  // as Hugging Face and PEFT write it
  Shape shape;       // [out, in] of a product, [hidden] of a norm, [vocab, hidden] of the embedding
  DType storage = DType::bf16;
  bool trainable = false;
  bool decays = true;    // in the weight-decay group: everything but norms
  bool adapter = false;  // half of a low-rank pair
  Tensor value;
  QuantScales scales;  // empty unless the storage is u4
  QuantState quant;    // the same as kernels take it, with the model's tables
  Tensor gradient;     // f32, or bf16 in the 2-byte modes; empty when frozen

  int64_t elements() const { return shape.elements(); }
};

// Addresses stay valid while the list grows.
using ParameterList = std::deque<Parameter>;

}  // namespace cairn
