// Every checkpoint policy: the same bits, the other accounts untouched, activations as promised.
#include <gtest/gtest.h>

#include <cmath>

#include "model/known_models.h"
#include "plan/choose_policy.h"
#include "support/expect_run.h"
#include "support/small_run.h"
#include "train/prepare.h"

namespace cairn::test {
namespace {

constexpr const char* kPolicies[] = {
    "block",   "every:2",   "every:3",
    "sqrt",    "nested",    "nested:3",
    "offload", "selective", "2*offload+2*every:2+1*selective+1*block+1*none"};

int64_t peak_of(const Snapshot& snapshot, Account account) {
  return snapshot.peaks_of_accounts()[static_cast<size_t>(account)];
}

void set_policy(SmallRun& run, const char* words, MemberSet selected = kCheapMembers) {
  run.spec.checkpointing =
      make_policy(*parse_policy(words), run.spec.model.config.num_layers, selected);
}

void expect_activations_alone_differ(const Snapshot& before, const Snapshot& after) {
  for (Account account : kAccounts) {
    if (account == Account::activations) continue;
    EXPECT_EQ(peak_of(after, account), peak_of(before, account)) << name_of(account);
  }
}

TEST(Checkpointing, every_policy_gives_the_same_bits_and_touches_activations_alone) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SmallRun run = make_small_run(seed);
    run.spec.model.config.num_layers = 7;
    set_policy(run, "none");
    const RunResult plain = run_small(run, *backend);
    for (const char* words : kPolicies) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << words);
      set_policy(run, words);
      const RunResult result = run_small(run, *backend);
      expect_same_bits(plain, result);
      expect_activations_alone_differ(plain.snapshot, result.snapshot);
    }
  }
}

// Some policies tile the MLP of a batch as long as this, and some keep it whole.
TEST(Checkpointing, every_policy_gives_the_same_bits_of_a_long_batch) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed : {0, 1, 4, 5}) {
    SmallRun run = make_small_run(seed);
    run.spec.model.mlp_tile = run.spec.model.loss_chunk = 0;
    run.accumulation = 1;
    run.steps = {make_batches(seed, run.spec.model.config.vocab, 1, 24, 640)};
    ASSERT_GT(run.steps[0][0].tokens(), Mlp::kAutoTile);
    run.eval.clear();
    set_capacity(run);
    set_policy(run, "none");
    const RunResult plain = run_small(run, *backend);
    for (const char* words : {"block", "sqrt", "selective"}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << words);
      set_policy(run, words);
      expect_same_bits(plain, run_small(run, *backend));
    }
  }
}

TEST(Checkpointing, each_member_that_selective_drops_comes_back_with_the_same_bits) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SmallRun run = make_small_run(seed);
    set_policy(run, "none");
    const RunResult plain = run_small(run, *backend);
    for (MemberSet members :
         {MemberSet{Member::attention_normed}, MemberSet{Member::projections},
          MemberSet{Member::mlp_normed}, MemberSet{Member::gate_and_up}, MemberSet{Member::gated},
          MemberSet{Member::attention_normed, Member::projections, Member::mlp_normed,
                    Member::gate_and_up, Member::gated}}) {
      set_policy(run, "selective", members);
      expect_same_bits(plain, run_small(run, *backend));
    }
  }
}

TEST(Checkpointing, a_tiled_mlp_gives_the_same_losses_and_checkpoints_to_the_same_bits) {
  const auto backend = open_backend("cpu", 2);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SmallRun run = make_small_run(seed);
    set_policy(run, "none");
    const RunResult whole = run_small(run, *backend);
    run.spec.model.mlp_tile = 16;
    const RunResult tiled = run_small(run, *backend);
    // Rows do not see each other: the first loss has the same bits. Sums over rows are cut
    // differently, so weights drift apart by what their order explains.
    EXPECT_EQ(tiled.outcomes[0].loss, whole.outcomes[0].loss);
    set_policy(run, "block");
    expect_same_bits(tiled, run_small(run, *backend));
  }
}

// A LoRA step of a small Llama shape with that many blocks, rehearsed.
int64_t activations_of(const char* words, int64_t num_blocks) {
  TrainSpec spec;
  spec.model.config = *find_known_model("smollm2-135m");
  spec.model.config.num_layers = num_blocks;
  spec.model.lora = LoraSpec();
  spec.capacity = make_full_capacity(1, 1024);
  spec.checkpointing = make_policy(*parse_policy(words), num_blocks);
  return peak_of(rehearse(spec, 1, cpu_profile(2)).snapshot, Account::activations);
}

TEST(Checkpointing, activations_grow_as_the_root_of_the_number_of_blocks) {
  const int64_t input = activations_of("block", 65) - activations_of("block", 64);
  const int64_t saved_set = activations_of("none", 2) - activations_of("none", 1) - input;
  const auto root_growth = [](const char* words, int64_t constant) {
    for (int64_t blocks : {4, 16}) {
      const auto fewer = static_cast<double>(activations_of(words, blocks) - constant);
      const auto more = static_cast<double>(activations_of(words, 4 * blocks) - constant);
      EXPECT_NEAR(more / fewer, 2, 0.15 * 2) << words << " from " << blocks << " blocks";
    }
  };
  // A segment of `sqrt` holds the saved sets of all its blocks, one of `nested` a single one.
  root_growth("sqrt", 0);
  root_growth("nested", saved_set);
}

TEST(Checkpointing, paged_inputs_leave_activations_independent_of_depth) {
  const int64_t few = activations_of("offload", 4), many = activations_of("offload", 64);
  EXPECT_EQ(few, many);
}

TEST(Checkpointing, auto_is_never_slower_than_the_best_plain_policy_that_fits) {
  TrainSpec spec;
  spec.model.config = *find_known_model("smollm2-360m");
  spec.model.lora = LoraSpec();
  spec.capacity = make_full_capacity(4, 512);
  const TargetProfile profile = cpu_profile(2);
  const MemberSet selected = choose_selective(spec, profile);
  std::vector<Rehearsal> plain;
  for (const char* words :
       {"none", "selective", "block", "every:2", "every:4", "sqrt", "nested", "offload"}) {
    spec.checkpointing = make_policy(*parse_policy(words), spec.model.config.num_layers, selected);
    plain.push_back(rehearse(spec, 2, profile));
  }
  const int64_t most = plain.front().arena_bytes(), least = plain.back().arena_bytes();
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t budget = least + (most - least) * i / 9;
    const ChosenPolicy chosen = choose_policy(spec, selected, 2, profile, budget);
    SCOPED_TRACE(testing::Message() << budget << " bytes: " << to_string(chosen.choice));
    EXPECT_LE(chosen.rehearsal.arena_bytes(), budget);
    for (const Rehearsal& other : plain) {
      if (other.arena_bytes() > budget) continue;
      EXPECT_LE(chosen.rehearsal.step_seconds, 1.03 * other.step_seconds);
    }
  }
}

TEST(Checkpointing, selective_recomputes_what_is_cheap_and_keeps_every_product) {
  TrainSpec spec;
  spec.model.config = *find_known_model("llama-3.2-1b");
  spec.model.lora = LoraSpec();
  spec.capacity = make_full_capacity(1, 2048);
  EXPECT_EQ(choose_selective(spec, cpu_profile(2)), kCheapMembers);
}

}  // namespace
}  // namespace cairn::test
