// LossHead: final norm, vocabulary product and cross-entropy as one layer, chunked over the
// labelled rows. Rows without a label are skipped, and full logits never exist.
#pragma once

#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"

namespace cairn {

struct LossHead {
  RmsNorm norm;
  Linear vocabulary;       // [vocab, hidden], the embedding's own weight when tied
  int64_t chunk_rows = 0;  // rows whose logits exist at a time; 0: default_loss_chunk
  float softcap = 0;       // of the logits; 0: none

  // The sum over labelled rows of the cross-entropy of `hidden` [tokens, hidden]. With d_hidden
  // [tokens, hidden] f32, which is overwritten, its gradient times `scale`, and the parameters'
  // gradients are added to. With `waiting` the vocabulary's own gradient waits for
  // backward_vocabulary, which reads what is left there: normed [labelled rows, hidden].
  double forward_backward(const Pass& pass, ConstView hidden, float scale, View d_hidden,
                          Tensor* waiting = nullptr) const;
  // Adds to the vocabulary's gradient; the logits are computed again.
  void backward_vocabulary(const Pass& pass, const Tensor& normed, float scale) const;
  // logits [rows, vocab] f32 of `hidden` [rows, hidden], for generation.
  void logits(const Pass& pass, ConstView hidden, View out) const;

 private:
  double chunks(const Pass& pass, ConstView normed, float scale, View d_normed,
                bool vocabulary_gradient) const;
};

// The chunk when nobody chose one: logits of at most 64 MiB, whole tiles of 64 rows, but never
// below the least. A plan that misses its budget may take a smaller one, down to that.
int64_t default_loss_chunk(const Parameter& vocabulary, int64_t labelled_rows, bool gradient);
// A tile; with a gradient of the vocabulary that is kept in bf16, which every chunk rounds, no more
// chunks than kMostRoundedChunks.
inline constexpr int64_t kLossTile = 64;
inline constexpr int64_t kMostRoundedChunks = 32;
int64_t least_loss_chunk(const Parameter& vocabulary, int64_t labelled_rows, bool gradient);

}  // namespace cairn
