// Which attention a recipe gets on a target: every kernel but `disabled` is tiled and exact, so a
// target without FlashAttention changes the kernel, never what is trained.
#pragma once

#include "backend/target_profile.h"
#include "model/layers/attention.h"
#include "train/recipe.h"

namespace cairn {

struct AttentionChoice {
  FlashAttention used = FlashAttention::automatic;
  std::string remark;  // one sentence if it is not what was asked for, else empty
};

// fa2, fa3 and auto fall back to sdpa where the target has no FlashAttention.
AttentionChoice choose_attention(FlashAttention asked, const TargetProfile& target);

AttentionKind attention_kind(FlashAttention asked);

}  // namespace cairn
