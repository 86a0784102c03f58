// What a recipe may choose of many ranks: what each rank keeps a share of (ZeRO: Rajbhandari et
// al., 2020), and how shares travel. One rank has nothing to share.
#pragma once

#include <cstdint>

namespace cairn {

// More ranks than any run, so that no product of sizes overflows.
inline constexpr int64_t kMostRanks = 65536;

// A size that is left to the model: DeepSpeed's "auto".
inline constexpr int64_t kAutoElements = -1;

// Said where a recipe asks one rank for a stage.
inline constexpr const char* kOneRankSharesNothing =
    "zero_stage shares memory between ranks, and this is one rank: it splits nothing; paged or "
    "8-bit optimizer states, quantization_bit: 4 with LoRA, and gradient checkpointing help on one";

struct ShardingSettings {
  // 0: every rank holds all; 1: a share of the optimizer's states; 2: of gradients too; 3: of
  // weights too.
  int64_t stage = 0;
  bool overlap = true;  // transfers run beside computing
  // Stages 0 to 2: elements that one transfer of gradients, or of updated weights, moves at most.
  int64_t reduce_bucket = 500'000'000;
  int64_t gather_bucket = 500'000'000;
  // Stage 3: weights of fewer elements stay whole on every rank.
  int64_t persistence_threshold = 100'000;
  // Stage 3: 0: nothing is gathered ahead; else the next unit is, whole.
  int64_t prefetch_elements = 50'000'000;
  int64_t timeout_seconds = 1800;  // key "ddp_timeout": a rank that is silent for longer is lost
  bool operator==(const ShardingSettings&) const = default;

  bool shares_states() const { return stage >= 1; }
  bool shares_gradients() const { return stage >= 2; }
  bool shares_weights() const { return stage >= 3; }
};

// `settings` with the sizes that were left to a model of this hidden size. They are those of
// Hugging Face's Trainer.
inline ShardingSettings resolved_for(ShardingSettings settings, int64_t hidden) {
  if (settings.reduce_bucket == kAutoElements) settings.reduce_bucket = hidden * hidden;
  if (settings.prefetch_elements == kAutoElements)
    settings.prefetch_elements =
        static_cast<int64_t>(0.9 * static_cast<double>(hidden) * static_cast<double>(hidden));
  if (settings.persistence_threshold == kAutoElements) settings.persistence_threshold = 10 * hidden;
  return settings;
}

}  // namespace cairn
