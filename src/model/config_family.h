// The families of decoders: which keys of a config.json they read, and what they take for granted
// where a key is missing. Source: transformers' configuration classes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "model/config.h"

namespace cairn {

// Named as model_type is.
enum class Family : uint8_t { llama, mistral, qwen2, qwen3, gemma2, gemma3_text, phi3 };

struct FamilyDefaults {
  Family family;
  std::string_view model_type, model_class;
  int64_t head_dim;  // 0: hidden_size / num_attention_heads
  int64_t kv_heads;  // 0: as many as heads
  int64_t max_position;
  double epsilon, theta;
  bool tied;
};

// By model_type, or by the class in "architectures". Throws UserError that lists the families.
const FamilyDefaults& family_of(const nlohmann::json& config);

// Everything beyond the sizes: biases, norms, gate, windows, caps and rotary positions.
void read_family(const nlohmann::json& config, const FamilyDefaults& defaults, ModelConfig& model);

}  // namespace cairn
