// What a recipe may choose of many ranks: what each rank keeps a share of (ZeRO: Rajbhandari et
// al., 2020), and how shares travel. One rank has nothing to share.
#pragma once

#include <cstdint>

namespace cairn {

// More ranks than any run, so that no product of sizes overflows.
inline constexpr int64_t kMostRanks = 65536;

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

}  // namespace cairn
