#include "model/layers/linear.h"

#include <algorithm>

#include "base/bytes.h"
#include "ops/dropout.h"
#include "ops/gemm.h"
#include "ops/moving.h"
#include "ops/sum_rows.h"

namespace cairn {
namespace {

// Rows whose dropped input exists at a time, or more of a long batch: what a piece costs beside its
// rows, in a plan too, is paid so many times at most.
constexpr int64_t kDropoutRows = 512, kMostDropoutPieces = 4;

int64_t rows_of_piece(const Pass& pass) {
  const int64_t rows = pass.capacity.tokens;
  return std::min(rows, std::max(kDropoutRows, ceil_div(rows, kMostDropoutPieces)));
}

struct Piece {
  int64_t begin = 0, rows = 0;
  Dropout dropout;  // of these rows
};

// Calls body(piece) for every piece of the capacity; a batch that fills less ends with empty ones.
template <typename Body>
void for_each_piece(const Pass& pass, const Dropout& dropout, const Body& body) {
  const int64_t rows = rows_of_piece(pass);
  for (int64_t at = 0; at < pass.capacity.tokens; at += rows) {
    Piece piece{.begin = std::min(at, pass.tokens()), .rows = 0, .dropout = dropout};
    piece.rows = std::min(rows, pass.tokens() - piece.begin);
    piece.dropout.seed = pass.dropout_seed;
    piece.dropout.samples = pass.samples.view_rows(piece.begin, piece.rows);
    piece.dropout.positions = pass.positions.view_rows(piece.begin, piece.rows);
    body(piece);
  }
}

// [piece rows, columns] of the workspace.
Tensor make_piece(const Pass& pass, std::string_view label, DType dtype, int64_t columns) {
  return pass.exec.make(Account::workspace, label, dtype, {rows_of_piece(pass), columns});
}

}  // namespace

QuantState Linear::quant() const {
  QuantState quant = weight->quant;
  quant.first = first * in();
  return quant;
}

LowRank Linear::fold(const Pass& pass) const {
  if (!lora_a || drops(pass)) return {};
  return {.up = slice(lora_b->value), .down = lora_a->value, .scale = lora_scale};
}

void Linear::forward(const Pass& pass, ConstView x, View y, ConstView residual) const {
  ops::gemm(pass.exec, {.a = x,
                        .b = slice(weight->value),
                        .c = y,
                        .transpose_b = true,
                        .residual = bias ? ConstView() : residual,
                        .bias = bias ? bias->value : View(),
                        .fold = fold(pass),
                        .quant = quant()});
  if (bias && residual) ops::add(pass.exec, residual, y);
  if (drops(pass)) add_pair(pass, x, y);
}

void Linear::backward_input(const Pass& pass, ConstView d_y, View d_x, bool accumulate) const {
  ops::gemm(pass.exec, {.a = d_y,
                        .b = slice(weight->value),
                        .c = d_x,
                        .beta = accumulate ? 1.0f : 0.0f,
                        .fold = fold(pass),
                        .quant = quant()});
  if (drops(pass)) add_pair_to_input(pass, d_y, d_x);
}

void Linear::backward_parameters(const Pass& pass, ConstView d_y, ConstView x) const {
  if (weight->trainable)
    ops::gemm(
        pass.exec,
        {.a = d_y, .b = x, .c = slice(weight->gradient.view()), .transpose_a = true, .beta = 1});
  if (bias && bias->trainable) ops::sum_rows(pass.exec, d_y, bias->gradient.view());
  if (!lora_a || !lora_a->trainable) return;
  if (!drops(pass)) return add_pair_gradients(pass, d_y, x);
  Tensor dropped = make_piece(pass, "dropped input", x.dtype(), x.columns());
  for_each_piece(pass, {.rate = dropout, .stream = dropout_stream}, [&](const Piece& piece) {
    const View now = dropped.view_rows(piece.rows);
    ops::dropout(pass.exec, piece.dropout, x.view_rows(piece.begin, piece.rows), now);
    add_pair_gradients(pass, d_y.view_rows(piece.begin, piece.rows), now);
  });
}

// y += s (dropped x) A^T B^T. Dropping does not scale what it keeps: the scale has it.
void Linear::add_pair(const Pass& pass, ConstView x, View y) const {
  const Exec& exec = pass.exec;
  Tensor dropped = make_piece(pass, "dropped input", x.dtype(), x.columns());
  Tensor low = make_piece(pass, "low rank", DType::f32, lora_a->shape[0]);
  for_each_piece(pass, {.rate = dropout, .stream = dropout_stream}, [&](const Piece& piece) {
    const View now = dropped.view_rows(piece.rows), low_rows = low.view_rows(piece.rows);
    ops::dropout(exec, piece.dropout, x.view_rows(piece.begin, piece.rows), now);
    ops::gemm(exec, {.a = now, .b = lora_a->value, .c = low_rows, .transpose_b = true});
    ops::gemm(exec, {.a = low_rows,
                     .b = slice(lora_b->value),
                     .c = y.view_rows(piece.begin, piece.rows),
                     .transpose_b = true,
                     .alpha = pair_scale(pass),
                     .beta = 1});
  });
}

// d_x += dropped (s d_y B A): the elements that forward dropped pass nothing back.
void Linear::add_pair_to_input(const Pass& pass, ConstView d_y, View d_x) const {
  const Exec& exec = pass.exec;
  Tensor spread = make_piece(pass, "d dropped input", DType::f32, d_x.columns());
  Tensor low = make_piece(pass, "low rank", DType::f32, lora_a->shape[0]);
  for_each_piece(pass, {.rate = dropout, .stream = dropout_stream}, [&](const Piece& piece) {
    const View now = spread.view_rows(piece.rows), low_rows = low.view_rows(piece.rows);
    ops::gemm(
        exec,
        {.a = d_y.view_rows(piece.begin, piece.rows), .b = slice(lora_b->value), .c = low_rows});
    ops::gemm(exec, {.a = low_rows, .b = lora_a->value, .c = now, .alpha = pair_scale(pass)});
    ops::dropout(exec, piece.dropout, now, now);
    ops::add(exec, now, d_x.view_rows(piece.begin, piece.rows));
  });
}

// Both halves pass through [rows, rank]: d_B = s d_y^T (x A^T), d_A = s (d_y B)^T x.
void Linear::add_pair_gradients(const Pass& pass, ConstView d_y, ConstView x) const {
  const Exec& exec = pass.exec;
  const int64_t rank = lora_a->shape[0];
  Tensor low = drops(pass) ? make_piece(pass, "low rank", DType::f32, rank)
                           : pass.make_gradient("low rank", rank);
  const View low_rows = low.view_rows(x.rows());
  ops::gemm(exec, {.a = x, .b = lora_a->value, .c = low_rows, .transpose_b = true});
  ops::gemm(exec, {.a = d_y,
                   .b = low_rows,
                   .c = slice(lora_b->gradient.view()),
                   .transpose_a = true,
                   .alpha = pair_scale(pass),
                   .beta = 1});
  ops::gemm(exec, {.a = d_y, .b = slice(lora_b->value), .c = low_rows});
  ops::gemm(exec, {.a = low_rows,
                   .b = x,
                   .c = lora_a->gradient.view(),
                   .transpose_a = true,
                   .alpha = pair_scale(pass),
                   .beta = 1});
}

}  // namespace cairn
