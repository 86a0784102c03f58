// What a recipe may choose of an optimizer. The rule, how its states are coded and where they stay
// are three choices, each independent of the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace cairn {

enum class OptimizerRule : uint8_t { adamw, sgd };
enum class StateCoding : uint8_t { f32, bf16, blocks_8bit };
enum class StatePlace : uint8_t { resident, paged };

constexpr std::string_view name_of(StateCoding coding) {
  constexpr std::string_view names[] = {"f32", "bf16", "8-bit blocks"};
  return names[static_cast<size_t>(coding)];
}

inline constexpr int64_t kDefaultPageResident = 256 * kMiB;

// Tensors of fewer elements keep their states in 32 bits, and so do embeddings: rows that are
// seldom looked up have gradients of very different sizes in one block.
inline constexpr int64_t kLeast8BitElements = 4096;

struct OptimizerSettings {
  OptimizerRule rule = OptimizerRule::adamw;
  std::optional<StateCoding> coding = {};  // none: f32, or bf16 under pure_bf16
  StatePlace place = StatePlace::resident;
  int64_t page_resident = kDefaultPageResident;  // bytes that paged states may keep in the arena
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;  // of parameters in the decay group
  uint64_t seed = 42;       // of stochastic rounding
};

}  // namespace cairn
