// Weights that bitsandbytes quantised to 4 bits, as safetensors hold them: codes under the weight's
// name, and what they stand for beside it. A weight is quantised if its quant state is there, never
// because a configuration says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "files/tensor_source.h"

namespace cairn {

// One quantised weight. All of its tensors have been held against each other.
struct QuantisedModule {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  std::string type;  // "nf4" or "fp4"
  Shape shape;       // [out, in] of the weight
  int64_t block = 0;
  bool nested = false;      // absmax is coded in 8 bits
  float nested_offset = 0;  // what its codes leave out

  std::string weight() const { return name + ".weight"; }
};

// Every quantised weight of a source, in the order of its tensors. Throws DamagedFile where the
// parts of one do not fit each other, UserError for a variant that Cairn does not read.
std::vector<QuantisedModule> find_quantised_modules(const TensorSource& source);

// Whether a tensor is a part of a quantised weight, its codes excepted:
// "model.layers.0.mlp.up_proj.weight.absmax".
bool is_quant_part(std::string_view name);

// The text that states a quantised weight, as bitsandbytes writes and reads it, and the name of the
// tensor that holds it.
std::string make_quant_state(const QuantisedModule& module, std::string_view dtype);
std::string quant_state_name(const QuantisedModule& module);

}  // namespace cairn
