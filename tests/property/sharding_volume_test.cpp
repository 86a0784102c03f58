// What a step sends and what each rank holds, against the formulas of the paper (Rajbhandari et
// al., 2020): with N ranks each sends (N - 1) / N of the volume that it gives.
#include <gtest/gtest.h>

#include <map>

#include "plan/rehearse.h"

namespace cairn::test {
namespace {

constexpr int kRanks = 4;

// Every tensor splits into four shares without padding.
TrainSpec make_spec(int stage) {
  TrainSpec spec;
  spec.model.config.hidden = 1024;
  spec.model.config.intermediate = 2048;
  spec.model.config.num_layers = 3;
  spec.model.config.num_heads = spec.model.config.num_kv_heads = 8;
  spec.model.config.head_dim = 128;
  spec.model.config.vocab = 4096;
  spec.model.precision = TrainedPrecision::mixed;
  spec.checkpointing = uniform_policy(Keep::input, spec.model.config.num_layers);
  spec.sharding.stage = stage;
  spec.sharding.persistence_threshold = 0;
  spec.world = {0, kRanks};
  spec.capacity = {64, 64, 1, 63};
  return spec;
}

// Elements of each unit's weights: embedding, blocks, head.
std::vector<int64_t> units_of(const TrainSpec& spec) {
  Model model(spec.model);
  std::vector<int64_t> units;
  for (const Unit& unit : model.weight_units()) {
    units.push_back(0);
    for (const Parameter* parameter : unit) units.back() += parameter->elements();
  }
  return units;
}

int64_t sum_of(const std::vector<int64_t>& units) {
  int64_t sum = 0;
  for (const int64_t unit : units) sum += unit;
  return sum;
}

// The numbers that every step adds up (tokens, labels, losses, squared norms) are some hundreds.
constexpr int64_t kNumbers = 1000;

void expect_sent(const Rehearsal& rehearsal, Collective kind, int64_t volume) {
  const int64_t sent = rehearsal.traffic.of(kind).elements;
  const int64_t expected = volume * (kRanks - 1) / kRanks;
  EXPECT_GE(sent, expected) << name_of(kind);
  EXPECT_LE(sent, expected + (kind == Collective::all_reduce ? kNumbers : 0)) << name_of(kind);
}

TEST(ShardingVolume, is_that_of_the_paper_at_every_stage) {
  for (const int64_t micro_batches : {1, 2}) {
    const int64_t weights = sum_of(units_of(make_spec(0)));
    const auto rehearsed = [&](int stage) {
      return rehearse(make_spec(stage), micro_batches, TargetProfile());
    };
    const Rehearsal stage0 = rehearsed(0);
    expect_sent(stage0, Collective::all_reduce, 2 * weights);
    expect_sent(stage0, Collective::reduce_scatter, 0);
    const Rehearsal stage1 = rehearsed(1);
    expect_sent(stage1, Collective::reduce_scatter, weights);
    expect_sent(stage1, Collective::all_gather, weights);
    const Rehearsal stage2 = rehearsed(2);
    expect_sent(stage2, Collective::reduce_scatter, micro_batches * weights);
    expect_sent(stage2, Collective::all_gather, weights);
  }
}

// Forward and backward gather each unit, but the last block stays for its backward, head and
// embedding work once: below 3 times the weights, of which the reduce-scatter is one.
TEST(ShardingVolume, of_stage_3_is_gathers_of_each_pass) {
  for (const int64_t micro_batches : {1, 2})
    for (const bool overlap : {true, false})
      for (const Keep keep : {Keep::input, Keep::everything}) {
        TrainSpec spec = make_spec(3);
        spec.sharding.overlap = overlap;
        spec.checkpointing = uniform_policy(keep, spec.model.config.num_layers);
        const std::vector<int64_t> units = units_of(spec);
        const int64_t weights = sum_of(units);
        const Rehearsal rehearsal = rehearse(spec, micro_batches, TargetProfile());
        int64_t gathered = units.front() + units.back();
        for (size_t block = 1; block + 1 < units.size(); ++block) gathered += 2 * units[block];
        // Without a unit ahead, the head takes the place of the last block.
        if (overlap) gathered -= units[units.size() - 2];
        expect_sent(rehearsal, Collective::all_gather, micro_batches * gathered);
        expect_sent(rehearsal, Collective::reduce_scatter, micro_batches * weights);
        EXPECT_LE(gathered + weights, 3 * weights);
      }
}

// Codes of half a byte, a byte for 64 of them, a float for 16,384.
TEST(ShardingVolume, of_quantised_weights_is_their_4_bit_bytes) {
  TrainSpec spec = make_spec(3);
  spec.model.precision = TrainedPrecision::f32;
  spec.model.lora = LoraSpec();
  spec.model.quantisation = QuantSpec();
  Model model(spec.model);
  std::vector<double> bytes;
  for (const Unit& unit : model.weight_units()) {
    bytes.push_back(0);
    for (const Parameter* parameter : unit) {
      const auto n = static_cast<double>(parameter->elements());
      if (parameter->storage == DType::u4)
        bytes.back() += n * (0.5 + 1.0 / 64 + 4.0 / 16384);
      else
        bytes.back() += n * static_cast<double>(size_of(parameter->storage));
    }
  }
  double expected = bytes.front() + bytes.back() - bytes[bytes.size() - 2];
  for (size_t block = 1; block + 1 < bytes.size(); ++block) expected += 2 * bytes[block];
  const Rehearsal rehearsal = rehearse(spec, 1, TargetProfile());
  const auto sent = static_cast<double>(rehearsal.traffic.of(Collective::all_gather).bytes);
  EXPECT_NEAR(sent, expected * (kRanks - 1) / kRanks, 0.02 * expected);
}

// Weights, gradients and optimizer states of each stage: 16, 4 + 12/N, 2 + 14/N and 16/N bytes a
// parameter in the mixed mode.
TEST(ShardingLedger, model_states_are_those_of_the_paper) {
  for (int stage = 0; stage <= 3; ++stage) {
    const TrainSpec spec = make_spec(stage);
    const auto weights = static_cast<double>(sum_of(units_of(spec)));
    const double n = kRanks;
    const std::map<int, double> bytes = {{0, 16}, {1, 4 + 12 / n}, {2, 2 + 14 / n}, {3, 16 / n}};
    const Snapshot snapshot = rehearse(spec, 1, TargetProfile()).snapshot;
    const auto& peaks = snapshot.peaks_of_accounts();
    const int64_t states = peaks[static_cast<size_t>(Account::weights)] +
                           peaks[static_cast<size_t>(Account::gradients)] +
                           peaks[static_cast<size_t>(Account::optimizer)];
    EXPECT_EQ(static_cast<double>(states), bytes.at(stage) * weights) << "stage " << stage;
  }
}

}  // namespace
}  // namespace cairn::test
