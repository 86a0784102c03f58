// Bits that must not depend on the cut of the work: a row's result is its own, whichever rows share
// the call and wherever a vector happens to begin; and a weight's gradient is the same over one
// call or two. And sums that are rounded once, however many terms they have.
#include <gtest/gtest.h>

#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "support/op_run.h"
#include "support/runners.h"

namespace cairn::test {
namespace {

constexpr int64_t kRows = 11, kColumns = 83, kCut = 4;

// Runs `call` over all rows, then over [0, kCut) and [kCut, kRows), and compares every operand.
void expect_same_bits_when_cut(std::vector<HostTensor> operands, const OpBody& call) {
  for (const auto& group : built_runners()) {
    SCOPED_TRACE("on " + group.front().name());
    RunnerScope scope(group.front());
    std::vector<HostTensor> whole = operands, cut = operands;
    const auto pointers = [](std::vector<HostTensor>& list) {
      std::vector<HostTensor*> all;
      for (HostTensor& tensor : list) all.push_back(&tensor);
      return all;
    };
    run_op(scope.backend(), pointers(whole), call);
    run_op(scope.backend(), pointers(cut), [&](const Exec& exec, const std::vector<View>& v) {
      for (const auto& [begin, count] :
           {std::pair{int64_t{0}, kCut}, std::pair{kCut, kRows - kCut}}) {
        std::vector<View> part;
        for (const View& view : v)
          part.push_back(view.rows() == kRows ? view.view_rows(begin, count) : view);
        call(exec, part);
      }
    });
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_EQ(whole[i].bytes(), cut[i].bytes()) << "operand " << i;
  }
}

HostTensor normal(DType dtype, uint64_t stream) {
  return HostTensor(dtype, {kRows, kColumns}).fill_normal(stream);
}

TEST(CutWork, rms_norm_keeps_its_bits) {
  const HostTensor weight = HostTensor(DType::f32, {kColumns}).fill_normal(9);
  expect_same_bits_when_cut(
      {normal(DType::bf16, 1), weight, normal(DType::bf16, 2), HostTensor(DType::f32, {kRows})},
      [](const Exec& exec, const std::vector<View>& v) {
        ops::rms_norm_forward(exec, v[0], v[1], 1e-5f, v[2], v[3]);
      });
  const HostTensor rstd = HostTensor(DType::f32, {kRows}).fill_normal(3);
  const HostTensor d_weight = HostTensor(DType::f32, {kColumns}).fill_normal(4);
  expect_same_bits_when_cut({normal(DType::f32, 1), normal(DType::bf16, 2), weight, rstd,
                             normal(DType::f32, 5), d_weight},
                            [](const Exec& exec, const std::vector<View>& v) {
                              ops::rms_norm_backward(exec, v[0], v[1], v[2], v[3], v[4], v[5]);
                            });
}

TEST(CutWork, swiglu_keeps_its_bits) {
  expect_same_bits_when_cut({normal(DType::bf16, 1), normal(DType::f32, 2), normal(DType::bf16, 3)},
                            [](const Exec& exec, const std::vector<View>& v) {
                              ops::swiglu_forward(exec, v[0], v[1], v[2]);
                            });
  expect_same_bits_when_cut({normal(DType::f32, 1), normal(DType::bf16, 2), normal(DType::bf16, 3),
                             normal(DType::f32, 4), normal(DType::f32, 5)},
                            [](const Exec& exec, const std::vector<View>& v) {
                              ops::swiglu_backward(exec, v[0], v[1], v[2], v[3], v[4]);
                            });
}

TEST(CutWork, cross_entropy_keeps_its_bits) {
  const HostTensor labels = HostTensor(DType::i32, {kRows}).fill_below(1, kColumns);
  for (const bool gradient : {false, true})
    expect_same_bits_when_cut({labels, normal(DType::f32, 2), HostTensor(DType::f32, {kRows})},
                              [gradient](const Exec& exec, const std::vector<View>& v) {
                                ops::cross_entropy(exec, v[0], 1.0f, gradient, v[1], v[2]);
                              });
}

TEST(CutWork, loss_has_the_same_bits_with_and_without_its_gradient) {
  const HostTensor labels = HostTensor(DType::i32, {kRows}).fill_below(1, kColumns);
  RunnerScope scope(built_runners().front().front());
  std::vector<std::byte> losses[2];
  for (const bool gradient : {false, true}) {
    HostTensor rows = labels, logits = normal(DType::f32, 2), loss(DType::f32, {kRows});
    run_op(scope.backend(), {&rows, &logits, &loss},
           [gradient](const Exec& exec, const std::vector<View>& v) {
             ops::cross_entropy(exec, v[0], 1.0f, gradient, v[1], v[2]);
           });
    losses[gradient] = loss.bytes();
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(CrossEntropy, a_nan_logit_makes_its_row_nan_and_no_other) {
  for (const auto& group : built_runners()) {
    SCOPED_TRACE("on " + group.front().name());
    RunnerScope scope(group.front());
    HostTensor labels = HostTensor(DType::i32, {kRows}).fill_below(1, kColumns);
    HostTensor logits = normal(DType::f32, 2), loss(DType::f32, {kRows});
    logits.set(3 * kColumns + 5, std::nan(""));
    run_op(scope.backend(), {&labels, &logits, &loss},
           [](const Exec& exec, const std::vector<View>& v) {
             ops::cross_entropy(exec, v[0], 1.0f, true, v[1], v[2]);
           });
    for (int64_t row = 0; row < kRows; ++row) EXPECT_EQ(std::isnan(loss.at(row)), row == 3) << row;
  }
}

// Beyond 256 a one is less than half a unit in the last place of a bf16.
TEST(Embedding, a_row_in_bf16_takes_all_its_tokens_before_it_is_rounded) {
  constexpr int64_t kTokens = 4096;
  for (const auto& group : built_runners()) {
    SCOPED_TRACE("on " + group.front().name());
    RunnerScope scope(group.front());
    HostTensor ids(DType::i32, {2 * kTokens}), d_out(DType::f32, {2 * kTokens, kColumns});
    HostTensor d_table(DType::bf16, {3, kColumns});
    for (int64_t i = 0; i < ids.elements(); ++i) ids.set(i, i % 2 == 0 ? 2 : 1);
    for (int64_t i = 0; i < d_out.elements(); ++i) d_out.set(i, i / kColumns % 2 == 0 ? 1 : -1);
    for (int64_t i = 0; i < d_table.elements(); ++i) d_table.set(i, 64);
    run_op(scope.backend(), {&ids, &d_out, &d_table},
           [](const Exec& exec, const std::vector<View>& v) {
             ops::embedding_backward(exec, v[0], v[1], v[2]);
           });
    for (int64_t i = 0; i < d_table.elements(); ++i) {
      constexpr double kWant[] = {64, 64 - kTokens, 64 + kTokens};
      EXPECT_EQ(d_table.at(i), kWant[i / kColumns]) << i;
    }
  }
}

}  // namespace
}  // namespace cairn::test
