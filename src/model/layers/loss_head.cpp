#include "model/layers/loss_head.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "ops/cross_entropy.h"
#include "ops/moving.h"
#include "ops/softcap.h"

namespace cairn {
namespace {

// Sums device-side losses in f64, a stackful at a time.
double sum_on_host(const Exec& exec, ConstView losses) {
  std::array<float, 1024> piece;
  double sum = 0;
  const auto size = static_cast<int64_t>(piece.size());
  for (int64_t begin = 0; begin < losses.rows(); begin += size) {
    const ConstView part = losses.view_rows(begin, std::min(size, losses.rows() - begin));
    exec.backend.device().copy_to_host(exec.stream, part.data(), piece.data(), part.bytes());
    exec.backend.device().wait(exec.stream);
    for (int64_t i = 0; i < part.rows(); ++i) sum += piece[static_cast<size_t>(i)];
  }
  return sum;
}

}  // namespace

int64_t least_loss_chunk(const Parameter& vocabulary, int64_t labelled_rows, bool gradient) {
  if (!gradient || !vocabulary.trainable || vocabulary.storage == DType::f32) return kLossTile;
  return std::max(kLossTile, round_up(ceil_div(labelled_rows, kMostRoundedChunks), kLossTile));
}

int64_t default_loss_chunk(const Parameter& vocabulary, int64_t labelled_rows, bool gradient) {
  const int64_t rows = 64 * kMiB / (4 * vocabulary.shape[0]);
  return std::max(least_loss_chunk(vocabulary, labelled_rows, gradient),
                  rows / kLossTile * kLossTile);
}

double LossHead::chunks(const Pass& pass, ConstView normed, float scale, View d_normed,
                        bool vocabulary_gradient) const {
  const Exec& exec = pass.exec;
  const int64_t capacity = pass.capacity.labelled_rows;
  const int64_t asked = chunk_rows > 0
                            ? chunk_rows
                            : default_loss_chunk(*vocabulary.weight, capacity, vocabulary_gradient);
  const int64_t chunk = std::max<int64_t>(1, std::min(asked, capacity));
  Tensor logits =
      exec.make(Account::workspace, "logits", DType::f32, {chunk, vocabulary.weight->shape[0]});
  Tensor row_loss = exec.make(Account::workspace, "row loss", DType::f32, {chunk});
  double loss = 0;
  // As many rounds as the capacity has chunks: a batch with fewer rows ends with empty ones.
  for (int64_t round = 0; round < capacity; round += chunk) {
    const int64_t begin = std::min(round, normed.rows());
    const int64_t count = std::min(chunk, normed.rows() - begin);
    const ConstView x = normed.view_rows(begin, count);
    const View now = logits.view_rows(count);
    vocabulary.forward(pass, x, now);
    if (softcap > 0) ops::softcap(exec, softcap, now);
    ops::cross_entropy(exec, pass.labels.view_rows(begin, count), scale,
                       d_normed || vocabulary_gradient, now, row_loss.view_rows(count), softcap);
    loss += sum_on_host(exec, row_loss.view_rows(count));
    if (d_normed) vocabulary.backward_input(pass, now, d_normed.view_rows(begin, count), false);
    if (vocabulary_gradient) vocabulary.backward_parameters(pass, now, x);
  }
  return loss;
}

double LossHead::forward_backward(const Pass& pass, ConstView hidden, float scale, View d_hidden,
                                  Tensor* waiting) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "loss head");
  const int64_t capacity = pass.capacity.labelled_rows, rows = pass.extent.labelled_rows;
  const int64_t width = hidden.columns();
  const auto make = [&](std::string_view label, DType dtype, int64_t columns) {
    return exec.make(Account::workspace, label, dtype, {capacity, columns});
  };
  Tensor x = make("labelled rows", pass.activation, width);
  Tensor rstd = make("rstd", DType::f32, 1);
  Tensor normed = exec.make(waiting ? Account::activations : Account::workspace, "normed",
                            pass.activation, {capacity, width});
  ops::gather_rows(exec, hidden, pass.labelled_rows, x.view_rows(rows));
  norm.forward(exec, x.view_rows(rows), normed.view_rows(rows), rstd.view_rows(rows));
  if (!d_hidden) return chunks(pass, normed.view_rows(rows), scale, View(), false);

  Tensor d_normed = make("d normed", DType::f32, width);
  const double loss =
      chunks(pass, normed.view_rows(rows), scale, d_normed.view_rows(rows), !waiting);
  if (waiting) *waiting = std::move(normed);
  normed.reset();
  Tensor d_x = make("d labelled rows", DType::f32, width);
  ops::fill_zero(exec, d_x.view_rows(rows));
  norm.backward(exec, d_normed.view_rows(rows), x.view_rows(rows), rstd.view_rows(rows),
                d_x.view_rows(rows));
  ops::scatter_rows(exec, d_x.view_rows(rows), pass.labelled_rows, d_hidden);
  return loss;
}

void LossHead::backward_vocabulary(const Pass& pass, const Tensor& normed, float scale) const {
  const Ledger::Scope scope(pass.exec.arena.ledger(), "loss head");
  chunks(pass, normed.view_rows(pass.extent.labelled_rows), scale, View(), true);
}

void LossHead::logits(const Pass& pass, ConstView hidden, View out) const {
  const Exec& exec = pass.exec;
  const Ledger::Scope scope(exec.arena.ledger(), "logits");
  Tensor rstd = exec.make(Account::workspace, "rstd", DType::f32, {hidden.rows(), 1});
  Tensor normed =
      exec.make(Account::workspace, "normed", pass.activation, {hidden.rows(), hidden.columns()});
  norm.forward(exec, hidden, normed.view(), rstd.view());
  vocabulary.forward(pass, normed.view(), out);
  if (softcap > 0) ops::softcap(exec, softcap, out);
}

}  // namespace cairn
