// The proofs of the ledger that do not come from the ledger: the process's own size, and its
// allocator.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/bytes.h"
#include "files/page_file.h"
#include "memory/machine.h"
#include "model/known_models.h"
#include "support/malloc_watch.h"
#include "support/small_run.h"
#include "train/engine.h"

namespace cairn::test {
namespace {

TrainSpec make_lora_spec(const ModelConfig& config, const Batch& batch) {
  TrainSpec spec;
  spec.model.config = config;
  spec.model.lora = LoraSpec();
  spec.capacity = capacity_of(batch);
  spec.checkpointing = uniform_policy(Keep::input, config.num_layers);
  return spec;
}

// A way to run a step.
struct Way {
  const char* policy;
  AttentionKind attention = AttentionKind::flash;
  int64_t mlp_tile = 0;
  OptimizerSettings optimizer = {};
  bool quantised = false;       // with LoRA
  bool unit_gradients = false;  // the optimizer in backward
  bool streams = false;         // frozen weights, with LoRA
};
const OptimizerSettings k8Bit{.coding = StateCoding::blocks_8bit};
const OptimizerSettings kPaged{.place = StatePlace::paged, .page_resident = 2 * kMiB};
const OptimizerSettings kPaged8Bit{
    .coding = StateCoding::blocks_8bit, .place = StatePlace::paged, .page_resident = kMiB};
const OptimizerSettings kSgd{.rule = OptimizerRule::sgd};
const Way kWays[] = {{"none"},
                     {"block"},
                     {"every:2"},
                     {"sqrt"},
                     {"nested"},
                     {"selective"},
                     {"offload"},
                     {"none", AttentionKind::materialised},
                     {"block", AttentionKind::materialised},
                     {"block", AttentionKind::flash, 96},
                     {"block", AttentionKind::flash, 0, k8Bit},
                     {"block", AttentionKind::flash, 0, kPaged},
                     {"offload", AttentionKind::flash, 0, kPaged8Bit},
                     {"block", AttentionKind::flash, 0, kSgd},
                     {"block", AttentionKind::flash, 0, {}, true},
                     {"nested", AttentionKind::flash, 0, k8Bit, false, true},
                     {"offload", AttentionKind::flash, 0, kPaged8Bit, true, true},
                     {"block", AttentionKind::flash, 0, {}, false, false, true},
                     {"block", AttentionKind::flash, 0, {}, true, false, true},
                     {"every:2", AttentionKind::flash, 0, {}, false, false, true},
                     {"every:2", AttentionKind::flash, 0, kPaged, true, false, true}};

void set_way(TrainSpec& spec, const Way& way) {
  spec.checkpointing = make_policy(*parse_policy(way.policy), spec.model.config.num_layers);
  spec.model.attention = way.attention;
  spec.model.mlp_tile = way.mlp_tile;
  spec.optimizer = way.optimizer;
  spec.model.unit_gradients = way.unit_gradients;
  spec.model.streams_weights = way.streams && spec.model.lora;
  if (way.quantised && spec.model.lora) spec.model.quantisation = QuantSpec();
}

// States pass through the arena on their way to a disk and back.
void expect_checkpoints_allocate_nothing_large(Trainer& trainer) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("cairn_memory_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder.string() + "/" + states_file_name(0, 1);
  testing::begin_malloc_watch();
  trainer.write_checkpoint(&path);
  const StateFiles states(folder.string());
  trainer.read_checkpoint(&states, trainer.counts());
  const testing::MallocReport report = testing::end_malloc_watch();
  EXPECT_EQ(report.large_allocations, 0) << report.to_string();
  std::filesystem::remove_all(folder);
}

// Every buffer of this shape is over the watched size, so nothing can hide below it.
TEST(StepMemory, nothing_allocates_over_64_kib_during_a_step) {
  ModelConfig config = make_small_config(3);
  config.hidden = 320;
  config.intermediate = 640;
  config.vocab = 4096;
  config.num_layers = 4;
  const auto backend = open_backend("cpu", 2);
  warm_up(*backend);
  for (const bool lora : {true, false})
    for (const Way& way : kWays) {
      SCOPED_TRACE(way.policy);
      const int64_t accumulation = way.unit_gradients ? 1 : 2;
      const std::vector<Batch> step = make_batches(7, config.vocab, accumulation, 3, 150);
      SmallRun run;
      run.spec = make_lora_spec(config, step[0]);
      if (!lora) run.spec.model.lora.reset();
      set_way(run.spec, way);
      run.steps = {step};
      set_capacity(run);
      const Rehearsal rehearsal = rehearse(run.spec, accumulation, backend->profile());
      Ledger ledger;
      Arena arena(backend->device(), ledger, rehearsal.layout);
      PageFile pages(std::filesystem::temp_directory_path());
      Trainer trainer(*backend, arena, run.spec, &pages);
      trainer.load({});
      testing::begin_malloc_watch();
      for (int i = 0; i < 2; ++i) trainer.step(step, 1e-3);
      const testing::MallocReport report = testing::end_malloc_watch();
      EXPECT_EQ(report.large_allocations, 0) << report.to_string();
      expect_checkpoints_allocate_nothing_large(trainer);
    }
}

// What sets a family apart takes its memory from the arena too.
TEST(StepMemory, nothing_allocates_over_64_kib_in_any_family) {
  const auto backend = open_backend("cpu", 2);
  warm_up(*backend);
  for (const char* name :
       {"mistral-7b-v0.1", "qwen2.5-7b", "qwen3-8b", "gemma-2-9b", "gemma-3-1b", "phi-4-mini"})
    for (const bool lora : {true, false})
      for (const Way& way : {kWays[0], kWays[1]}) {
        SCOPED_TRACE(std::string(name) + " " + way.policy);
        const ModelConfig config = make_family_config(name);
        const std::vector<Batch> step = make_batches(7, config.vocab, 2, 3, 150);
        SmallRun run;
        run.spec = make_lora_spec(config, step[0]);
        if (!lora) run.spec.model.lora.reset();
        set_way(run.spec, way);
        run.steps = {step};
        set_capacity(run);
        const Rehearsal rehearsal = rehearse(run.spec, 2, backend->profile());
        Ledger ledger;
        Arena arena(backend->device(), ledger, rehearsal.layout);
        PageFile pages(std::filesystem::temp_directory_path());
        Trainer trainer(*backend, arena, run.spec, &pages);
        trainer.load({});
        testing::begin_malloc_watch();
        for (int i = 0; i < 2; ++i) trainer.step(step, 1e-3);
        const testing::MallocReport report = testing::end_malloc_watch();
        EXPECT_EQ(report.large_allocations, 0) << report.to_string();
        EXPECT_EQ(ledger.snapshot().peaks_of_accounts(), rehearsal.snapshot.peaks_of_accounts());
      }
}

// The process is the arena and what it was before, whatever the family.
TEST(StepMemory, resident_size_is_arena_and_runtime_in_every_family) {
  const auto backend = open_backend("cpu", 0);
  warm_up(*backend);
  for (const char* name :
       {"mistral-7b-v0.1", "qwen2.5-7b", "qwen3-8b", "gemma-2-9b", "gemma-3-1b", "phi-4-mini"}) {
    SCOPED_TRACE(name);
    const ModelConfig config = make_family_config(name);
    const std::vector<Batch> batches = make_batches(5, config.vocab, 1, 8, 512);
    TrainSpec spec = make_lora_spec(config, batches[0]);
    const Rehearsal rehearsal = rehearse(spec, 1, backend->profile());
    const int64_t runtime = resident_bytes();
    ASSERT_TRUE(reset_peak_resident());
    Ledger ledger;
    Arena arena(backend->device(), ledger, rehearsal.layout);
    arena.prefault();
    Trainer trainer(*backend, arena, spec);
    trainer.load({});
    trainer.step(batches, 1e-3);
    const int64_t off = peak_resident_bytes() - rehearsal.arena_bytes() - runtime;
    EXPECT_LE(std::llabs(off), rehearsal.arena_bytes() * 3 / 100 + kMiB) << off;
  }
}

// Four blocks of SmolLM2's shape on 1,024 tokens: activations are most of the arena.
TEST(StepMemory, resident_size_is_arena_and_runtime_under_every_policy_and_attention) {
  ModelConfig config = *find_known_model("smollm2-135m");
  config.num_layers = 4;
  config.vocab = 2048;
  const auto backend = open_backend("cpu", 0);
  warm_up(*backend);
  const std::vector<Batch> batches = make_batches(5, config.vocab, 1, 4, 256);
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.policy);
    TrainSpec spec = make_lora_spec(config, batches[0]);
    set_way(spec, way);
    const Rehearsal rehearsal = rehearse(spec, 1, backend->profile());
    PageFile pages(std::filesystem::temp_directory_path());
    const int64_t runtime = resident_bytes();
    ASSERT_TRUE(reset_peak_resident());
    Ledger ledger;
    Arena arena(backend->device(), ledger, rehearsal.layout);
    arena.prefault();
    Trainer trainer(*backend, arena, spec, &pages);
    trainer.load({});
    trainer.step(batches, 1e-3);
    const int64_t off = peak_resident_bytes() - rehearsal.arena_bytes() - runtime;
    std::cout << way.policy << ": arena " << rehearsal.arena_bytes() << ", off by " << off
              << " bytes\n";
    EXPECT_LE(std::llabs(off), rehearsal.arena_bytes() * 3 / 100 + kMiB);
    EXPECT_EQ(ledger.snapshot().peaks_of_accounts(), rehearsal.snapshot.peaks_of_accounts());
  }
}

// A 1B shape with random weights: the process is the arena and what it was before, no more, no
// less.
TEST(StepMemory, resident_size_of_a_1b_run_is_arena_and_runtime) {
  const ModelConfig config = *find_known_model("llama-3.2-1b");
  const auto backend = open_backend("cpu", 0);
  warm_up(*backend);
  const std::vector<Batch> batches = make_batches(5, config.vocab, 1, 2, 64);
  const TrainSpec spec = make_lora_spec(config, batches[0]);
  const Rehearsal rehearsal = rehearse(spec, 1, backend->profile());
  if (rehearsal.arena_bytes() + kGiB > default_budget_bytes())
    GTEST_SKIP() << "this machine has not the " << format_bytes(rehearsal.arena_bytes())
                 << " that a 1B shape needs";
  const int64_t runtime = resident_bytes();
  ASSERT_TRUE(reset_peak_resident());
  Ledger ledger;
  Arena arena(backend->device(), ledger, rehearsal.layout);
  arena.prefault();
  EXPECT_GE(resident_bytes(), rehearsal.arena_bytes()) << "memory must be there before step 1";
  Trainer trainer(*backend, arena, spec);
  trainer.load({});
  trainer.step(batches, 1e-3);
  const int64_t peak = peak_resident_bytes();
  std::cout << "arena " << rehearsal.arena_bytes() << ", runtime " << runtime << ", peak resident "
            << peak << ", off by " << peak - rehearsal.arena_bytes() - runtime << " bytes\n";
  EXPECT_LE(std::llabs(peak - rehearsal.arena_bytes() - runtime),
            rehearsal.arena_bytes() * 3 / 100 + 64 * kMiB);
  EXPECT_EQ(ledger.snapshot().peaks_of_accounts(), rehearsal.snapshot.peaks_of_accounts());
}

}  // namespace
}  // namespace cairn::test
