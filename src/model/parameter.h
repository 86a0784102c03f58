// Parameter: one named tensor of the model with everything the rest needs to know of it. The list
// of parameters is the single source for loading, optimizer, sharding and saving.
#pragma once

#include <deque>
#include <string>

#include "memory/tensor.h"
#include "model/quantisation.h"

namespace cairn {

struct ParameterMemory {
  Tensor value;          // [shape], or [cut.share] if the value is cut
  Tensor absmax;         // [blocks of that], of u4 storage
  Tensor nested_absmax;  // [ceil(blocks / 256)]
};

// What ranks share of a parameter, and which elements are this rank's. Not cut: all, on every rank.
struct Cut {
  bool states = false, gradient = false, value = false;  // what each rank keeps its share of
  int64_t share = 0;                                     // elements that every rank has memory for
  int64_t first = 0, count = 0;                          // this rank's: they end with the parameter
};

struct Parameter {
  std::string name;  // as Hugging Face and PEFT write it
  Shape shape;       // [out, in] of a product, [hidden] of a norm, [vocab, hidden] of the embedding
  DType storage = DType::bf16;
  bool trainable = false;
  bool decays = true;              // in the weight-decay group: everything but norms
  bool adapter = false;            // half of a low-rank pair
  bool saved_beside = false;       // trained in full beside the pairs, and saved in their file
  std::string starts_as;           // the name in the model's files, if it is another's
  float vector_start = 1;          // each element of a vector that no file fills
  double learning_rate_scale = 1;  // times the run's rate
  bool embedding = false;          // a table whose rows are looked up
  View value;                      // [shape]: in `memory`, or in a slot that it passes through
  QuantScales scales;              // of u4 storage; where the value is
  QuantState quant;                // the same as kernels take it, with the model's tables
  ParameterMemory memory;          // empty for a weight that streams
  int64_t streamed_block = -1;     // the block that it streams with
  size_t unit = 0;                 // whose weights are opened together: embedding, blocks, head
  Cut cut;
  Tensor gradient;        // f32, or bf16 in the 2-byte modes; empty when frozen
  Tensor gradient_share;  // [cut.share], the sum over ranks, if gradients are cut

  int64_t elements() const { return shape.elements(); }
  // This rank's elements of value and gradient, [n]: from element own_first() on. They are wherever
  // the parameter is, whole or not.
  int64_t own_first() const { return cut.share > 0 ? cut.first : 0; }
  int64_t own_elements() const { return cut.share > 0 ? cut.count : elements(); }
  View view_own_value();
  View view_own_gradient();
  // The same in rows, of parameters whose value is cut or not cut at all.
  int64_t own_first_row() const { return own_first() / shape.row_elements(); }
  int64_t own_rows() const { return own_elements() / shape.row_elements(); }
  bool in_adapter_file() const { return adapter || saved_beside; }
  const std::string& name_in_model() const { return starts_as.empty() ? name : starts_as; }
  std::string name_in_adapter() const { return adapter ? name : "base_model.model." + name; }
};

// Addresses stay valid while the list grows.
using ParameterList = std::deque<Parameter>;

}  // namespace cairn
