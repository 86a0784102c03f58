// The promise: a run that goes on from a checkpoint makes the bits that the run without a break
// makes, in every mode; and states never change by being written, cut at other places, and read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "files/page_file.h"
#include "reference/block_codes.h"
#include "support/small_run.h"
#include "train/state_files.h"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

struct Part {
  std::vector<StepOutcome> outcomes;
  TrainerCounts counts;
  std::string remark;  // of reading
  std::string states;  // the states file at its end, every byte
};

class Resume : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("cairn_resume_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    for (const char* name : {"a", "b", "c"}) fs::create_directories(folder_ / name);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string file_in(const std::string& name) const {
    return at(name) + "/" + states_file_name(0, 1);
  }

  // Steps [first, end) of the run; begins with the states in `from` if that is a folder, and leaves
  // its own in `to`.
  Part run_part(const SmallRun& run, size_t first, size_t end, const std::string& from,
                const TrainerCounts& before, const std::string& to) {
    const Rehearsal planned = rehearse(run.spec, run.accumulation, backend_->profile());
    Ledger ledger;
    Arena arena(backend_->device(), ledger, planned.layout);
    arena.prefault();
    PageFile pages(fs::temp_directory_path());
    Trainer trainer(*backend_, arena, run.spec, &pages);
    trainer.load({});
    Part part;
    if (from.empty()) {
      trainer.read_checkpoint(nullptr, {});
    } else {
      const StateFiles states(at(from));
      part.remark = trainer.read_checkpoint(&states, before);
    }
    for (size_t i = first; i < end; ++i)
      part.outcomes.push_back(trainer.step(run.steps[i % run.steps.size()], 1e-2));
    part.counts = trainer.counts();
    const std::string path = file_in(to);
    trainer.write_checkpoint(&path);
    std::ifstream in(path, std::ios::binary);
    part.states.assign(std::istreambuf_iterator<char>(in), {});
    return part;
  }

  void expect_goes_on_to_the_bit(const SmallRun& run) {
    const Part straight = run_part(run, 0, 4, "", {}, "a");
    const Part before = run_part(run, 0, 2, "", {}, "b");
    const Part after = run_part(run, 2, 4, "b", before.counts, "c");
    EXPECT_EQ(after.remark, "");
    EXPECT_EQ(after.counts.updates, straight.counts.updates);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(after.outcomes[i].loss, straight.outcomes[i + 2].loss);
      EXPECT_EQ(after.outcomes[i].gradient_norm, straight.outcomes[i + 2].gradient_norm);
    }
    EXPECT_NE(before.states, straight.states) << "steps must change something";
    EXPECT_TRUE(after.states == straight.states) << "weights and states must have the same bits";
  }

  fs::path folder_;
  std::unique_ptr<Backend> backend_ = open_backend("cpu", 2);
};

// Each choice that a checkpoint could lose, for the list of what was tried.
void note_modes(const TrainSpec& spec, std::set<std::string>& seen) {
  seen.insert(spec.model.lora ? "lora" : "full");
  seen.insert(fmt::format("precision {}", static_cast<int>(spec.model.precision)));
  seen.insert(fmt::format("rule {}", static_cast<int>(spec.optimizer.rule)));
  seen.insert(spec.optimizer.place == StatePlace::paged ? "paged" : "resident");
  if (spec.optimizer.coding == StateCoding::blocks_8bit) seen.insert("8 bits");
  if (spec.model.lora && spec.model.lora->dropout > 0) seen.insert("dropout");
  if (spec.model.quantisation) seen.insert("quantised");
  if (spec.model.unit_gradients) seen.insert("in backward");
  if (spec.model.streams_weights) seen.insert("streamed");
}

TEST_F(Resume, makes_the_bits_of_the_run_without_a_break_in_every_mode) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("make_small_run(" + std::to_string(seed) + ")");
    const SmallRun run = make_small_run(seed);
    note_modes(run.spec, seen);
    expect_goes_on_to_the_bit(run);
  }
  for (const char* mode :
       {"lora", "full", "precision 0", "precision 1", "precision 2", "rule 0", "rule 1", "paged",
        "resident", "8 bits", "dropout", "quantised", "in backward", "streamed"})
    EXPECT_TRUE(seen.contains(mode)) << mode << " was never drawn";
}

// Weights large enough that states in 8 bits and pages are many blocks and pieces.
SmallRun make_full_run(TrainedPrecision precision, OptimizerSettings optimizer) {
  SmallRun run = make_small_run(3);
  run.spec.model.lora.reset();
  run.spec.model.quantisation.reset();
  run.spec.model.streams_weights = run.spec.model.unit_gradients = false;
  run.spec.model.config.hidden = 96;
  run.spec.model.config.intermediate = 128;
  run.spec.model.precision = precision;
  run.spec.optimizer = optimizer;
  return run;
}

constexpr TrainedPrecision kPrecisions[] = {TrainedPrecision::f32, TrainedPrecision::mixed,
                                            TrainedPrecision::pure_bf16};
const OptimizerSettings k8Bit{.coding = StateCoding::blocks_8bit};
const OptimizerSettings kPaged8Bit{.coding = StateCoding::blocks_8bit,
                                   .place = StatePlace::paged,
                                   .page_resident = kSmallPageResident};

TEST_F(Resume, of_paged_states_takes_up_resident_ones_and_the_other_way_round) {
  for (const TrainedPrecision precision : kPrecisions) {
    const SmallRun resident = make_full_run(precision, k8Bit);
    const SmallRun paged = make_full_run(precision, kPaged8Bit);
    const Part straight = run_part(resident, 0, 4, "", {}, "a");
    const Part first = run_part(paged, 0, 2, "", {}, "b");
    EXPECT_TRUE(run_part(resident, 2, 4, "b", first.counts, "c").states == straight.states);
    const Part second = run_part(resident, 0, 2, "", {}, "b");
    EXPECT_TRUE(second.states == first.states) << "a file does not tell where states were";
    EXPECT_TRUE(run_part(paged, 2, 4, "b", second.counts, "c").states == straight.states);
  }
}

// The f32 values of a tensor in a states file.
std::vector<float> floats_of(const StateFiles& files, const std::string& name,
                             std::string_view state) {
  std::vector<float> values(static_cast<size_t>(files.elements_of(name, state)));
  files.read(name, state, 0, files.elements_of(name, state),
             std::as_writable_bytes(std::span(values)));
  return values;
}

TEST_F(Resume, in_another_coding_takes_what_the_codes_mean_and_says_so) {
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  for (const TrainedPrecision precision : kPrecisions) {
    const SmallRun coded = make_full_run(precision, k8Bit);
    const SmallRun wide = make_full_run(precision, {.coding = StateCoding::f32});
    const Part in_8_bits = run_part(coded, 0, 3, "", {}, "a");
    const Part widened = run_part(wide, 3, 3, "a", in_8_bits.counts, "b");
    EXPECT_EQ(widened.remark,
              "the optimizer's states were in 8-bit blocks and are in f32 from here on");
    const StateFiles there(at("a")), here(at("b"));
    EXPECT_EQ(there.type_of(name, "m_codes"), FileType::u8);
    EXPECT_EQ(here.type_of(name, "m_codes"), std::nullopt);
    for (const std::string state : {"m", "v"}) {
      const int64_t elements = there.elements_of(name, state + "_codes");
      reference::CodedState codes{std::vector<uint8_t>(static_cast<size_t>(elements)),
                                  floats_of(there, name, state + "_scales"), state == "m"};
      there.read(name, state + "_codes", 0, elements,
                 std::as_writable_bytes(std::span(codes.codes)));
      std::vector<float> wanted(codes.codes.size());
      for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = codes.value(i);
      EXPECT_EQ(floats_of(here, name, state), wanted) << state;
    }
    const Part back = run_part(coded, 3, 4, "b", widened.counts, "c");
    EXPECT_EQ(back.remark,
              "the optimizer's states were in f32 and are in 8-bit blocks from here on");
  }
}

// Writes the states of one rank as those of `ranks`, each tensor cut into stretches of 4,096
// elements that are dealt out in turns.
void deal_out(const std::string& from, const std::string& to, int64_t ranks) {
  const SafetensorsFile whole(from + "/" + states_file_name(0, 1));
  struct Piece {
    const TensorInfo* tensor;
    int64_t first, count;
    std::string name;
  };
  std::vector<std::vector<Piece>> dealt(static_cast<size_t>(ranks));
  for (const TensorInfo& tensor : whole.tensors()) {
    const int64_t stretch = tensor.name.ends_with("_scales") ? 4096 / kCodedBlock : 4096;
    for (int64_t first = 0; first < tensor.shape.elements(); first += stretch)
      dealt[static_cast<size_t>(first / stretch % ranks)].push_back(
          {&tensor, first, std::min(stretch, tensor.shape.elements() - first),
           first == 0 ? tensor.name : fmt::format("{}@{}", tensor.name, first)});
  }
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<TensorSpec> specs;
    for (const Piece& piece : dealt[static_cast<size_t>(rank)])
      specs.push_back({piece.name, piece.tensor->type, {piece.count}});
    SafetensorsWriter writer(to + "/" + states_file_name(rank, ranks), specs, {});
    for (const Piece& piece : dealt[static_cast<size_t>(rank)]) {
      const int64_t size = block_bytes(piece.tensor->type);
      std::vector<std::byte> bytes(static_cast<size_t>(piece.count * size));
      whole.read_bytes(*piece.tensor, piece.first * size, bytes);
      writer.append(piece.name, bytes);
    }
    writer.finish();
  }
}

TEST_F(Resume, reads_states_that_any_number_of_ranks_wrote) {
  for (const OptimizerSettings& optimizer : {OptimizerSettings(), k8Bit, kPaged8Bit}) {
    const SmallRun run = make_full_run(TrainedPrecision::mixed, optimizer);
    const Part straight = run_part(run, 0, 4, "", {}, "a");
    const Part before = run_part(run, 0, 2, "", {}, "b");
    for (const int64_t ranks : {2, 3, 7}) {
      fs::remove_all(folder_ / "d");
      fs::create_directories(folder_ / "d");
      deal_out(at("b"), at("d"), ranks);
      EXPECT_TRUE(run_part(run, 2, 4, "d", before.counts, "c").states == straight.states) << ranks;
    }
  }
}

TEST_F(Resume, refuses_states_with_a_gap_or_without_a_rank) {
  const SmallRun run = make_full_run(TrainedPrecision::f32, {});
  run_part(run, 0, 1, "", {}, "a");
  deal_out(at("a"), at("b"), 3);
  EXPECT_NO_THROW(StateFiles{at("b")});
  fs::remove(at("b") + "/" + states_file_name(1, 3));
  EXPECT_THROW(StateFiles{at("b")}, DamagedFile);
  fs::copy_file(at("b") + "/" + states_file_name(0, 3), at("b") + "/" + states_file_name(1, 3));
  EXPECT_THROW(StateFiles{at("b")}, DamagedFile);
  EXPECT_THROW(StateFiles{at("c")}, UserError) << "no states at all";
}

}  // namespace
}  // namespace cairn::test
