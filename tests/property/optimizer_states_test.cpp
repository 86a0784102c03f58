// The states of optimizers: the same bits wherever they stay, never more memory than was allowed,
// and another coding between two steps.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "files/page_file.h"
#include "model/known_models.h"
#include "support/expect_run.h"
#include "support/small_run.h"
#include "support/tolerance.h"
#include "train/optimizers/state_exchange.h"

namespace cairn::test {
namespace {

int64_t peak_of(const Snapshot& snapshot, Place place) {
  return snapshot
      .account_peaks[static_cast<size_t>(place)][static_cast<size_t>(Account::optimizer)];
}

SmallRun make_run(uint64_t seed, TrainedPrecision precision, OptimizerSettings optimizer) {
  SmallRun run = make_small_run(seed);
  run.spec.model.lora.reset();
  run.spec.model.quantisation.reset();
  run.spec.model.streams_weights = false;
  run.spec.model.config.hidden = 96;
  run.spec.model.config.intermediate = 128;
  run.spec.model.precision = precision;
  optimizer.weight_decay = 0.01;
  run.spec.optimizer = optimizer;
  return run;
}

constexpr TrainedPrecision kPrecisions[] = {TrainedPrecision::f32, TrainedPrecision::mixed,
                                            TrainedPrecision::pure_bf16};

TEST(PagedStates, give_the_bits_of_resident_ones_within_what_they_may_keep) {
  const auto backend = open_backend("cpu", 2);
  for (const TrainedPrecision precision : kPrecisions)
    for (const OptimizerRule rule : {OptimizerRule::adamw, OptimizerRule::sgd})
      for (const std::optional<StateCoding> coding :
           {std::optional<StateCoding>(), std::optional(StateCoding::blocks_8bit)}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(precision) << " "
                                        << static_cast<int>(rule) << " " << coding.has_value());
        SmallRun run = make_run(3, precision, {.rule = rule, .coding = coding});
        const RunResult resident = run_small(run, *backend);
        run.spec.optimizer.place = StatePlace::paged;
        run.spec.optimizer.page_resident = kSmallPageResident;
        const RunResult paged = run_small(run, *backend);
        expect_same_bits(resident, paged);
        EXPECT_LE(peak_of(paged.snapshot, Place::device), kSmallPageResident);
        EXPECT_EQ(peak_of(paged.snapshot, Place::page) > 0,
                  peak_of(resident.snapshot, Place::device) > kSmallPageResident);
        EXPECT_TRUE(coding || rule == OptimizerRule::sgd ||
                    peak_of(paged.snapshot, Place::page) > 0)
            << "nothing was paged";
      }
}

TEST(PagedStates, that_fit_move_nothing) {
  const auto backend = open_backend("cpu", 2);
  SmallRun run = make_run(3, TrainedPrecision::f32, {});
  run.spec.optimizer.place = StatePlace::paged;
  Rehearsal rehearsal;
  const RunResult result = run_small(run, *backend, &rehearsal);
  EXPECT_EQ(peak_of(result.snapshot, Place::page), 0);
  EXPECT_EQ(rehearsal.states.page_bytes, 0);
}

TEST(PagedStates, leave_the_other_accounts_as_they_are) {
  const auto backend = open_backend("cpu", 1);
  SmallRun run = make_run(5, TrainedPrecision::f32, {});
  const auto resident = run_small(run, *backend).snapshot.peaks_of_accounts();
  run.spec.optimizer.place = StatePlace::paged;
  run.spec.optimizer.page_resident = kSmallPageResident;
  const auto paged = run_small(run, *backend).snapshot.peaks_of_accounts();
  for (const Account account : kAccounts) {
    if (account == Account::optimizer) continue;
    EXPECT_EQ(paged[static_cast<size_t>(account)], resident[static_cast<size_t>(account)]);
  }
}

TEST(EightBitStates, take_at_most_2_04_bytes_a_parameter) {
  TrainSpec spec;
  spec.model.config = *find_known_model("smollm2-135m");
  spec.optimizer.coding = StateCoding::blocks_8bit;
  spec.checkpointing = uniform_policy(Keep::input, spec.model.config.num_layers);
  spec.capacity = {.tokens = 64, .longest_segment = 64, .segments = 1, .labelled_rows = 63};
  const Rehearsal rehearsal = rehearse(spec, 1, cpu_profile(2));
  EXPECT_GT(rehearsal.states.elements_8bit, 100000000);
  EXPECT_LE(rehearsal.states.bytes_per_8bit_parameter(), 2.04);
  // The account agrees: what is not in 8 bits takes 8 bytes.
  EXPECT_EQ(peak_of(rehearsal.snapshot, Place::device),
            rehearsal.states.bytes_8bit + 8 * rehearsal.states.elements_wider);
}

TEST(EightBitStates, follow_32_bit_ones_closely_and_not_to_the_bit) {
  const auto backend = open_backend("cpu", 2);
  SmallRun run = make_run(7, TrainedPrecision::f32, {});
  const RunResult wide = run_small(run, *backend);
  run.spec.optimizer.coding = StateCoding::blocks_8bit;
  const RunResult coded = run_small(run, *backend);
  EXPECT_NE(wide.trained, coded.trained);
  // Step 1 starts from zero states, which both hold exactly.
  EXPECT_EQ(wide.outcomes[0].loss, coded.outcomes[0].loss);
  EXPECT_NEAR(wide.outcomes[1].loss, coded.outcomes[1].loss,
              wide.outcomes[1].loss * tolerance(DType::bf16, 1));
}

// A model and its optimizer alone, in one arena; updates come from the same made-up gradients.
class Bench {
 public:
  Bench(Backend& backend, Arena& arena, const SmallRun& run)
      : exec_{backend, arena}, model_(run.spec.model), optimizer_(model_, run.spec.optimizer) {
    const Arena::PhaseScope phase(arena, Phase::load);
    model_.allocate(exec_, 8);
    optimizer_.allocate(exec_);
    optimizer_.start(exec_);
  }
  void update(uint64_t step) {
    const Arena::PhaseScope phase(exec_.arena, Phase::update);
    uint64_t stream = step << 32;
    for (Parameter& parameter : model_.parameters())
      exec_.kernels().fill_random({},
                                  {.normal = true, .scale = 0.01f, .seed = 4, .stream = ++stream},
                                  parameter.gradient.view());
    optimizer_.update(exec_, 1e-3, 1);
  }
  using States = std::map<std::string, std::vector<float>>;
  States states() {
    const Arena::PhaseScope phase(exec_.arena, Phase::save);
    States all;
    export_states(exec_, optimizer_, [&](const StateStretch& stretch, ConstView values) {
      std::vector<float>& state = all[stretch.parameter.name + "/" + std::string(stretch.state)];
      EXPECT_EQ(static_cast<int64_t>(state.size()), stretch.first);
      state.resize(state.size() + static_cast<size_t>(values.elements()));
      exec_.backend.device().copy_to_host({}, values.data(), state.data() + stretch.first,
                                          values.bytes());
    });
    return all;
  }
  std::string take(const States& states, int64_t updates, StateCoding before) {
    const Arena::PhaseScope phase(exec_.arena, Phase::generate);
    return import_states(
        exec_, optimizer_,
        [&](const StateStretch& stretch, View values) {
          const auto state = states.find(stretch.parameter.name + "/" + std::string(stretch.state));
          if (state == states.end()) return;  // rehearsed
          exec_.backend.device().copy_to_device({}, state->second.data() + stretch.first,
                                                values.data(), values.bytes());
        },
        updates, before);
  }
  Model& model() { return model_; }
  Optimizer& optimizer() { return optimizer_; }

 private:
  Exec exec_;
  Model model_;
  Optimizer optimizer_;
};

// Every phase rehearsed, then `body` on the real one.
template <typename Body>
void with_bench(const SmallRun& run, const Body& body) {
  const auto backend = open_backend("cpu", 2);
  const auto rehearsal = open_rehearsal(backend->profile());
  Ledger rehearsed, ledger;
  Arena recording(rehearsal->device(), rehearsed);
  Bench spare(*rehearsal, recording, run);
  spare.update(1);
  spare.states();
  spare.take({}, 0, StateCoding::f32);
  Arena arena(backend->device(), ledger, solve_layout(recording.trace()));
  Bench bench(*backend, arena, run);
  body(bench);
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

TEST(StateExchange, states_go_from_32_bits_to_8_and_back_and_say_so) {
  SmallRun wide = make_run(3, TrainedPrecision::mixed, {}), coded = wide;
  coded.spec.optimizer.coding = StateCoding::blocks_8bit;
  Bench::States before, in_8_bits, after;
  with_bench(wide, [&](Bench& bench) {
    for (uint64_t step = 1; step <= 3; ++step) bench.update(step);
    before = bench.states();
  });
  with_bench(coded, [&](Bench& bench) {
    EXPECT_EQ(bench.take(before, 3, StateCoding::f32),
              "the optimizer's states were in f32 and are in 8-bit blocks from here on");
    in_8_bits = bench.states();
    EXPECT_EQ(bench.optimizer().updates(), 3);
    EXPECT_EQ(bench.take(in_8_bits, 3, StateCoding::blocks_8bit), "");
  });
  with_bench(wide, [&](Bench& bench) {
    EXPECT_EQ(bench.take(in_8_bits, 3, StateCoding::blocks_8bit),
              "the optimizer's states were in 8-bit blocks and are in f32 from here on");
    after = bench.states();
  });
  EXPECT_EQ(after, in_8_bits) << "32 bits hold what 8 bits meant exactly";
  bool any_coded = false;
  for (const auto& [name, values] : before) {
    const std::vector<float>& back = in_8_bits.at(name);
    ASSERT_EQ(back.size(), values.size());
    double off = 0;
    for (size_t i = 0; i < values.size(); ++i)
      off += std::pow(static_cast<double>(back[i]) - values[i], 2);
    any_coded = any_coded || off > 0;
    // A value near the middle of a block's range is a code away at most: 1.6 % of it.
    EXPECT_LE(std::sqrt(off), 4 * tolerance(DType::bf16, 1) * norm_of(values)) << name;
    EXPECT_TRUE(off == 0 || !name.ends_with("/master")) << name << " is never coded";
  }
  EXPECT_TRUE(any_coded);
}

TEST(StateExchange, a_run_that_took_its_own_states_goes_on_to_the_bit) {
  const SmallRun run = make_run(3, TrainedPrecision::f32, {});
  Bench::States straight, taken, half;
  with_bench(run, [&](Bench& bench) {
    for (uint64_t step = 1; step <= 2; ++step) bench.update(step);
    half = bench.states();
    bench.update(3);
    straight = bench.states();
  });
  with_bench(run, [&](Bench& bench) {
    EXPECT_EQ(bench.take(half, 2, StateCoding::f32), "");
    bench.update(3);
    taken = bench.states();
  });
  EXPECT_EQ(straight, taken);
}

}  // namespace
}  // namespace cairn::test
