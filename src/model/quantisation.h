// How a model's frozen products are quantised (QLoRA): in the format of bitsandbytes' 4-bit
// weights, codes of half a byte over blocks of the flat weight, whose magnitudes may be coded too.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "memory/tensor.h"
#include "numeric/nf4.h"
#include "ops/exec.h"

namespace cairn {

struct QuantSpec {
  int64_t block = kNf4Block;               // elements that share one absmax
  bool nested = true;                      // "double quantisation": absmax in 8 bits
  std::vector<std::string> plain_modules;  // stay as they are; as names_module has them
  bool operator==(const QuantSpec&) const = default;
};

// Whether `name` is that of `module`, of one above it, or the end of its name, as transformers
// reads "llm_int8_skip_modules": "model.layers.0", "down_proj".
bool names_module(const std::string& name, const std::string& module);

class Model;
// Throws UserError that names `key` if one of the model's plain_modules names none of its modules:
// a list that a user wrote. Those of checkpoints name modules of other programs too.
void check_plain_modules(const Model& model, std::string_view key);

// From "quantization_config" of a config.json. Throws UserError for a method that Cairn does not
// read.
QuantSpec parse_quantisation(const nlohmann::json& config);

// What all quantised weights of a model share.
struct QuantTables {
  Tensor codes;    // [16] f32, what a 4-bit code stands for
  Tensor nested;   // [256] f32, what a code of an absmax stands for; empty unless nested
  Tensor offsets;  // [quantised weights] f32, the mean that their absmax codes leave out; as nested
};

// Beside the codes of one weight.
struct QuantScales {
  View absmax;         // [blocks] f32, u8 if nested
  View nested_absmax;  // [ceil(blocks / 256)] f32; empty unless nested
  int64_t blocks = 0;
  bool nested = false;
  int64_t index = 0;  // of the weight among the model's quantised ones
};

}  // namespace cairn
