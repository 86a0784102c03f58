// One update of AdamW with moments in 8 bits, as the CUDA kernel of bitsandbytes orders it.
#pragma once

#include "backend/kernels.h"
#include "reference/block_codes.h"

namespace cairn::reference {

// All in f32, without FMA: a kernel has the same bits.
inline void adamw_8bit(const AdamW& s, const std::vector<float>& gradients,
                       std::vector<float>& weights, CodedState& m, CodedState& v) {
  const float root2 = std::sqrt(s.bias_correction2);
  const float step = -s.learning_rate * root2 / s.bias_correction1;
  std::vector<float> new_m(weights.size()), new_v(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const float gradient = gradients[i] * s.gradient_scale;
    new_m[i] = m.value(i) * s.beta1 + (1.0f - s.beta1) * gradient;
    new_v[i] = v.value(i) * s.beta2 + (1.0f - s.beta2) * gradient * gradient;
    if (!std::isfinite(new_v[i])) {
      new_m[i] = new_v[i] = 0;
      continue;
    }
    const float moved = weights[i] + step * (new_m[i] / (std::sqrt(new_v[i]) + root2 * s.epsilon));
    weights[i] = moved * (1.0f - s.learning_rate * s.weight_decay);
  }
  for (size_t begin = 0; begin < weights.size(); begin += 256) {
    m.encode_block(new_m, begin);
    v.encode_block(new_v, begin);
  }
}

}  // namespace cairn::reference
