// The tiled kernels against float64: ragged segments, queries and keys of different lengths, groups
// of heads, head sizes, storage, and every instruction set this machine has.
#include <gtest/gtest.h>

#include "support/only_target.h"
#include "unit/backend/attention_case.h"

namespace cairn::test {
namespace {

constexpr DType kStorage[] = {DType::f32, DType::bf16};
const std::vector<Lengths> kRagged = {{1, 1},   {0, 0},     {63, 63}, {64, 64},
                                      {65, 65}, {129, 129}, {7, 7}};

TEST(Attention, ragged_segments_and_groups_match_float64) {
  for (DType storage : kStorage)
    for (int64_t group : {1, 3, 4, 7})
      for (int64_t kv_heads : {1, 2})
        expect_right({kRagged, group * kv_heads, kv_heads, 32, storage}, 2);
}

TEST(Attention, head_sizes_match_float64) {
  for (DType storage : kStorage)
    for (int64_t head_dim : {8, 24, 32, 40, 64, 80, 96, 128, 200, 256})
      expect_right({{{97, 97}, {2, 2}}, 3, 1, head_dim, storage}, 2);
}

TEST(Attention, queries_and_keys_differ_in_length) {
  for (DType storage : kStorage)
    expect_right(
        {{{1, 300}, {5, 70}, {70, 5}, {0, 9}, {9, 0}, {130, 131}, {200, 70}, {64, 192}, {1, 1}},
         4,
         2,
         64,
         storage},
        2);
}

TEST(Attention, long_segments_match_float64) {
  expect_right({{{600, 600}}, 3, 1, 64, DType::f32}, 2);
  expect_right({{{333, 517}}, 1, 1, 128, DType::bf16}, 2);
}

// Windows of one key, inside a tile, a tile, past one, and past the segment.
TEST(Attention, windows_match_float64) {
  for (DType storage : kStorage)
    for (int64_t window : {1, 2, 17, 63, 64, 65, 128, 129, 200, 1000})
      for (int64_t group : {1, 3})
        expect_right({{{300, 300}, {1, 1}, {0, 0}, {65, 65}, {130, 130}, {31, 31}},
                      2 * group,
                      2,
                      32,
                      storage,
                      window},
                     2);
}

TEST(Attention, windows_where_queries_and_keys_differ_in_length) {
  for (int64_t window : {1, 40, 64, 150})
    expect_right({{{1, 300}, {5, 270}, {70, 5}, {0, 9}, {9, 0}, {130, 400}, {300, 70}},
                  4,
                  2,
                  64,
                  DType::bf16,
                  window},
                 2);
}

// Caps far below, about and far above the scores, with and without a window.
TEST(Attention, capped_scores_match_float64) {
  for (DType storage : kStorage)
    for (float softcap : {0.5f, 2.0f, 50.0f})
      for (int64_t window : {0, 40}) expect_right({kRagged, 6, 2, 40, storage, window, softcap}, 2);
}

TEST(Attention, many_heads_of_one_group) {
  expect_right({{{1, 130}, {70, 70}}, 40, 1, 16, DType::f32}, 2);
  expect_right({{{3, 140}, {150, 150}}, 30, 30, 8, DType::f32}, 3);
}

TEST(Attention, nothing_to_do) {
  expect_right({{}, 2, 1, 64, DType::f32}, 2);
  expect_right({{{0, 0}, {0, 0}}, 2, 1, 64, DType::bf16}, 2);
}

TEST(Attention, every_instruction_set_matches_float64) {
  for (int64_t target : {HWY_SCALAR, HWY_AVX2, HWY_AVX3}) {
    if (target != HWY_SCALAR && !(hwy::SupportedTargets() & target)) continue;
    const OnlyTarget only(target);
    for (DType storage : kStorage)
      for (int64_t head_dim : {40, 64})
        for (int64_t window : {0, 33})
          expect_right({{{1, 70}, {66, 66}, {131, 131}, {9, 3}},
                        6,
                        2,
                        head_dim,
                        storage,
                        window,
                        window ? 3.0f : 0.0f},
                       2);
  }
}

// Scores far apart: probabilities below the smallest number are 0, the largest is 1.
TEST(Attention, large_scores_neither_overflow_nor_spread) {
  AttentionOperands operands({{{130, 130}}, 1, 1, 32, DType::f32});
  for (int64_t i = 0; i < operands.q.shape().elements(); ++i) {
    operands.q.set(i, static_cast<float>(operands.q.at(i)) * 40);
    operands.k.set(i, static_cast<float>(operands.k.at(i)) * 40);
  }
  operands.forward(2);
  operands.backward(2);
  const auto q = operands.q.values(), k = operands.k.values(), v = operands.v.values();
  const auto want = reference::attention_forward(operands.sizes, q, k, v);
  operands.expect_close(operands.out, want.out, "out");
  operands.expect_close(operands.log_sum_exp, want.log_sum_exp, "log_sum_exp");
  const auto gradients = reference::attention_backward(
      operands.sizes, q, k, v, operands.out.values(), operands.d_out.values());
  operands.expect_close(operands.d_q, gradients.d_q, "d_q");
  operands.expect_close(operands.d_k, gradients.d_k, "d_k");
  operands.expect_close(operands.d_v, gradients.d_v, "d_v");
}

TEST(Attention, scratch_depends_on_threads_and_head_alone) {
  for (bool backward : {false, true}) {
    const int64_t one = cpu::attention_scratch_bytes(1, 64, backward);
    const int64_t two = cpu::attention_scratch_bytes(2, 64, backward);
    EXPECT_EQ(cpu::attention_scratch_bytes(3, 64, backward) - two, two - one);
    EXPECT_LT(one, cpu::attention_scratch_bytes(1, 128, backward));
  }
}

}  // namespace
}  // namespace cairn::test
