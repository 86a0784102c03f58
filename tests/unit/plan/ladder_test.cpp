// The ladder: each tool lowers what it should and leaves the rest to the byte, and a rung that does
// not fit says which account is to blame.
#include "plan/ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/bytes.h"
#include "base/error.h"

namespace cairn::test {
namespace {

constexpr int64_t kRuntime = 1000;
constexpr LadderShape kShape = {.sequence = 96, .batch = 3, .mean_sample = 40};

TrainSpec make_spec() {
  TrainSpec spec;
  spec.model.config.hidden = 64;
  spec.model.config.intermediate = 96;
  spec.model.config.num_layers = 3;
  spec.model.config.num_heads = 4;
  spec.model.config.num_kv_heads = 2;
  spec.model.config.head_dim = 16;
  spec.model.config.vocab = 80;
  spec.model.lora = LoraSpec();
  return spec;
}

Ladder make_ladder(int64_t budget = INT64_MAX, const LadderShape& shape = kShape) {
  return rehearse_ladder(make_spec(), shape, {.threads = 2}, budget, kRuntime);
}

int64_t bytes_of(const Rung& rung, Account account) {
  return rung.rehearsal.snapshot.accounts_at_peak()[static_cast<size_t>(account)];
}
int64_t own_peak_of(const Rung& rung, Account account) {
  return rung.rehearsal.snapshot.peaks_of_accounts()[static_cast<size_t>(account)];
}

void expect_equal_but_activations(const Rung& a, const Rung& b) {
  for (Account account :
       {Account::weights, Account::gradients, Account::optimizer, Account::workspace})
    EXPECT_EQ(own_peak_of(a, account), own_peak_of(b, account)) << name_of(account);
}

TEST(Ladder, adds_one_tool_a_rung) {
  std::vector<std::string> names;
  for (const Rung& rung : make_ladder().rungs) names.push_back(rung.name);
  EXPECT_EQ(names, (std::vector<std::string>{"baseline", "+ checkpointing", "+ FlashAttention",
                                             "+ packing"}));
}

TEST(Ladder, checkpointing_lowers_activations_and_no_other_account) {
  const std::vector<Rung> rungs = make_ladder().rungs;
  EXPECT_LT(own_peak_of(rungs[1], Account::activations),
            own_peak_of(rungs[0], Account::activations));
  expect_equal_but_activations(rungs[0], rungs[1]);
}

TEST(Ladder, flash_attention_lowers_activations_and_leaves_what_is_resident) {
  const std::vector<Rung> rungs = make_ladder().rungs;
  EXPECT_LT(own_peak_of(rungs[2], Account::activations),
            own_peak_of(rungs[1], Account::activations));
  for (Account account : {Account::weights, Account::gradients, Account::optimizer})
    EXPECT_EQ(own_peak_of(rungs[1], account), own_peak_of(rungs[2], account)) << name_of(account);
}

// A packed row has more borders, of four bytes each, and nothing else.
TEST(Ladder, packing_fills_the_same_memory_with_tokens_that_train) {
  const std::vector<Rung> rungs = make_ladder().rungs;
  expect_equal_but_activations(rungs[2], rungs[3]);
  const int64_t borders = rungs[3].spec.capacity.segments - rungs[2].spec.capacity.segments;
  EXPECT_EQ(borders, kShape.batch * 2);
  EXPECT_LE(std::abs(own_peak_of(rungs[3], Account::activations) -
                     own_peak_of(rungs[2], Account::activations)),
            round_up(4 * borders, kBufferAlignment));
  EXPECT_EQ(rungs[2].useful_tokens, kShape.batch * kShape.mean_sample);
  EXPECT_EQ(rungs[3].useful_tokens, kShape.positions());
  EXPECT_GT(rungs[3].tokens_per_second(rungs[3].step_seconds),
            rungs[2].tokens_per_second(rungs[2].step_seconds));
}

TEST(Ladder, its_batches_stay_within_the_capacity_and_hold_the_useful_tokens) {
  for (const Rung& rung : make_ladder().rungs) {
    const Batch batch = make_ladder_batch(kShape, rung.packed, 80);
    EXPECT_EQ(batch.tokens(), kShape.positions()) << rung.name;
    EXPECT_EQ(elementwise_max(capacity_of(batch), rung.spec.capacity), rung.spec.capacity)
        << rung.name;
    // The first token of a sample is predicted by none.
    EXPECT_EQ(batch.labelled(), rung.useful_tokens - batch.segments()) << rung.name;
  }
}

TEST(Ladder, the_last_rungs_recipe_is_planned_as_without_a_ladder) {
  const Rung flash = make_ladder().rungs[2];
  TrainSpec spec = make_spec();
  spec.checkpointing = uniform_policy(Keep::input, 3);
  spec.capacity = {.tokens = 288, .longest_segment = 96, .segments = 3, .labelled_rows = 285};
  const Rehearsal alone = rehearse(spec, 1, {.threads = 2});
  EXPECT_EQ(flash.rehearsal.snapshot.accounts_at_peak(), alone.snapshot.accounts_at_peak());
  EXPECT_EQ(flash.rehearsal.arena_bytes(), alone.arena_bytes());
}

TEST(Ladder, the_pile_is_what_is_needed) {
  const Ladder ladder = make_ladder();
  for (const Rung& rung : ladder.rungs) {
    int64_t sum = 0;
    for (const Portion& portion : ladder.pile(rung)) sum += portion.bytes;
    EXPECT_EQ(sum, ladder.needed_bytes(rung)) << rung.name;
  }
}

TEST(Ladder, a_rung_over_budget_names_the_account_that_holds_the_excess) {
  Ladder ladder = make_ladder();
  ladder.budget_bytes = ladder.needed_bytes(ladder.rungs[1]);
  const auto overflow = ladder.overflow(ladder.rungs[0]);
  ASSERT_TRUE(overflow);
  EXPECT_EQ(overflow->portion.name, "activations");
  EXPECT_EQ(overflow->portion.bytes, bytes_of(ladder.rungs[0], Account::activations));
  EXPECT_EQ(overflow->over_bytes,
            ladder.needed_bytes(ladder.rungs[0]) - ladder.needed_bytes(ladder.rungs[1]));
  // The budget itself still fits.
  EXPECT_FALSE(ladder.overflow(ladder.rungs[1]));
}

TEST(Ladder, with_less_than_the_weights_the_excess_has_many_accounts_and_the_largest_is_named) {
  const Ladder ladder = make_ladder(kRuntime);
  for (const Rung& rung : ladder.rungs) {
    const auto overflow = ladder.overflow(rung);
    ASSERT_TRUE(overflow);
    int64_t largest = 0;
    for (Account account : kAccounts) largest = std::max(largest, bytes_of(rung, account));
    EXPECT_EQ(overflow->over_bytes, largest) << rung.name;
  }
}

TEST(Ladder, a_model_that_fits_anyway_overflows_nowhere) {
  const Ladder ladder = make_ladder();
  for (const Rung& rung : ladder.rungs) {
    EXPECT_TRUE(ladder.fits(rung)) << rung.name;
    EXPECT_FALSE(ladder.overflow(rung)) << rung.name;
  }
}

TEST(Ladder, a_mean_that_is_no_length_of_a_sample_is_refused) {
  EXPECT_THROW(make_ladder(0, {.sequence = 96, .batch = 1, .mean_sample = 97}), UserError);
  EXPECT_THROW(make_ladder(0, {.sequence = 96, .batch = 1, .mean_sample = 1}), UserError);
  EXPECT_THROW(make_ladder(0, {.sequence = 1, .batch = 1, .mean_sample = 1}), UserError);
  EXPECT_NO_THROW(make_ladder(0, {.sequence = 96, .batch = 1, .mean_sample = 96}));
}

}  // namespace
}  // namespace cairn::test
