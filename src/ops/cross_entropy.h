// The loss of one chunk of logits, and its gradient in place.
#pragma once

#include "ops/exec.h"

namespace cairn::ops {

// labels [rows] i32, all valid; logits [rows, vocab] f32; row_loss [rows] f32. With `gradient`,
// logits become (softmax - one_hot) * scale. If logits went through a softcap (ops/softcap.h), give
// it: the gradient is then that of what went in.
void cross_entropy(const Exec& exec, ConstView labels, float scale, bool gradient, View logits,
                   View row_loss, float softcap = 0);

}  // namespace cairn::ops
