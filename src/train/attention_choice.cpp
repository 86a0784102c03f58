#include "train/attention_choice.h"

#include <fmt/format.h>

namespace cairn {

AttentionChoice choose_attention(FlashAttention asked, const TargetProfile& target) {
  if (target.has_flash_attention() || attention_kind(asked) == AttentionKind::materialised ||
      asked == FlashAttention::sdpa)
    return {asked, ""};
  return {FlashAttention::sdpa,
          fmt::format("flash_attn: {} needs compute capability {}.{}, and '{}' has {}.{}; sdpa is "
                      "used, which computes the same",
                      name_of(asked), TargetProfile::kFlashCapability / 10,
                      TargetProfile::kFlashCapability % 10, target.name,
                      target.compute_capability / 10, target.compute_capability % 10)};
}

AttentionKind attention_kind(FlashAttention asked) {
  return asked == FlashAttention::disabled ? AttentionKind::materialised : AttentionKind::flash;
}

}  // namespace cairn
