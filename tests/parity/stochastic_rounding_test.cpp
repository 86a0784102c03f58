// AdamW's rounding at random: a pure function of (seed, stream, element), on every backend, and
// right on average where rounding to nearest would stand still.
#include "reference/stochastic_rounding.h"

#include <gtest/gtest.h>

#include "ops/adamw.h"
#include "ops/sgd.h"
#include "support/op_run.h"
#include "support/runners.h"

namespace cairn::test {
namespace {

constexpr int64_t kCount = 16 * 1024 + 13;
// 1 - 2^-10: exact in f32, and an eighth of a unit in the last place of a bf16.
constexpr float kShrink = 1.0f - 1.0f / 1024;

struct State {
  HostTensor gradient{DType::bf16, {kCount}}, weight{DType::bf16, {kCount}};
  HostTensor m{DType::bf16, {kCount}}, v{DType::bf16, {kCount}};

  void update(Backend& backend, const AdamW& settings) {
    run_op(backend, {&gradient, &weight, &m, &v},
           [&](const Exec& exec, const std::vector<View>& x) {
             ops::adamw(exec, settings, x[0], x[1], View(), x[2], x[3]);
           });
  }
};

// No gradient: only the decay moves the weight, and only beta2 moves v, both by an exact product.
AdamW shrinking(uint64_t stream) {
  AdamW settings;
  settings.learning_rate = 1;
  settings.weight_decay = 1.0f / 1024;
  settings.beta2 = kShrink;
  settings.stochastic_rounding = true;
  settings.seed = 5;
  settings.stream = stream;
  return settings;
}

TEST(StochasticRounding, follows_the_counter_based_stream_to_the_bit) {
  const Random random(5, 21);
  for (const auto& group : built_runners())
    for (const Runner& runner : group) {
      SCOPED_TRACE("on " + runner.name());
      RunnerScope scope(runner);
      State state;
      state.weight.fill_normal(1);
      state.v.fill_normal(2);
      for (int64_t i = 0; i < kCount; ++i) state.v.set(i, std::abs(state.v.at(i)));
      const State before = state;
      state.update(scope.backend(), shrinking(21));
      for (int64_t i = 0; i < kCount; ++i) {
        const uint32_t noise = random.word(static_cast<uint64_t>(i));
        const auto shrunk = [&](const HostTensor& tensor) {
          return static_cast<float>(tensor.at(i)) * kShrink;
        };
        ASSERT_EQ(state.weight.read<bf16>(i).bits,
                  reference::to_bf16_at_random(shrunk(before.weight), noise).bits)
            << "weight " << i;
        ASSERT_EQ(state.v.read<bf16>(i).bits,
                  reference::to_bf16_at_random(shrunk(before.v), noise >> 16).bits)
            << "v " << i;
      }
    }
}

TEST(StochasticRounding, moves_on_average_where_nearest_stands_still) {
  RunnerScope scope(built_runners().front().front());
  constexpr int kSteps = 64;
  State random, nearest;
  for (State* state : {&random, &nearest})
    for (int64_t i = 0; i < kCount; ++i) state->weight.set(i, 1.5);
  for (uint64_t step = 0; step < kSteps; ++step) {
    AdamW settings = shrinking(step);
    random.update(scope.backend(), settings);
    settings.stochastic_rounding = false;
    nearest.update(scope.backend(), settings);
  }
  double mean = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(nearest.weight.at(i), 1.5);
    mean += random.weight.at(i) / kCount;
  }
  // Each step errs by less than a unit in the last place, independently: 2^-7 * sqrt(steps /
  // count).
  const double want = 1.5 * std::pow(kShrink, kSteps);
  const double unit = std::ldexp(1.0, -7) * std::sqrt(static_cast<double>(kSteps) / kCount);
  EXPECT_NEAR(mean, want, 4 * unit);
}

// What an optimizer does to rows [begin, begin + count) of every operand.
using PieceUpdate = std::function<void(const Exec&, const std::vector<View>&, int64_t begin)>;

void expect_same_bits_in_pieces(std::vector<HostTensor> operands, const PieceUpdate& update) {
  constexpr int64_t kCut = 4096;
  RunnerScope scope(built_runners().front().back());
  std::vector<HostTensor> whole = operands, cut = operands;
  const auto run = [&](std::vector<HostTensor>& tensors, const OpBody& body) {
    std::vector<HostTensor*> pointers;
    for (HostTensor& tensor : tensors) pointers.push_back(&tensor);
    run_op(scope.backend(), pointers, body);
  };
  run(whole, [&](const Exec& exec, const std::vector<View>& x) { update(exec, x, 0); });
  run(cut, [&](const Exec& exec, const std::vector<View>& x) {
    for (const auto& [begin, count] : {std::pair(int64_t{0}, kCut), {kCut, kCount - kCut}}) {
      std::vector<View> piece;
      for (const View& view : x) {
        // Scales are one for each block of 256.
        const int64_t of = view.rows() == kCount ? 1 : kCodedBlock;
        piece.push_back(view.view_rows(begin / of, (count + of - 1) / of));
      }
      update(exec, piece, begin);
    }
  });
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_EQ(whole[i].bytes(), cut[i].bytes()) << "operand " << i;
}

TEST(StochasticRounding, a_piece_of_a_parameter_draws_what_the_whole_would) {
  State state;
  state.gradient.fill_normal(3);
  state.weight.fill_normal(1);
  expect_same_bits_in_pieces({state.gradient, state.weight, state.m, state.v},
                             [](const Exec& exec, const std::vector<View>& x, int64_t begin) {
                               AdamW settings = shrinking(3);
                               settings.first = begin;
                               ops::adamw(exec, settings, x[0], x[1], View(), x[2], x[3]);
                             });
  const HostTensor codes(DType::u8, {kCount});
  const HostTensor scales(DType::f32, {(kCount + kCodedBlock - 1) / kCodedBlock});
  expect_same_bits_in_pieces(
      {state.gradient, state.weight, codes, scales, codes, scales},
      [](const Exec& exec, const std::vector<View>& x, int64_t begin) {
        AdamW settings = shrinking(3);
        settings.first = begin;
        ops::adamw_8bit(exec, settings, x[0], x[1], View(), {x[2], x[3]}, {x[4], x[5]});
      });
  expect_same_bits_in_pieces({state.gradient, state.weight},
                             [](const Exec& exec, const std::vector<View>& x, int64_t begin) {
                               const Sgd settings{.learning_rate = 1e-3f,
                                                  .stochastic_rounding = true,
                                                  .seed = 5,
                                                  .stream = 3,
                                                  .first = begin};
                               ops::sgd(exec, settings, x[0], x[1], View());
                             });
}

}  // namespace
}  // namespace cairn::test
