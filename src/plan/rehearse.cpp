#include "plan/rehearse.h"

#include <span>

#include "comm/registry.h"

namespace cairn {

Batch make_capacity_batch(const Capacity& capacity) {
  Batch batch;
  batch.ids.resize(static_cast<size_t>(capacity.tokens));
  batch.positions.resize(static_cast<size_t>(capacity.tokens));
  batch.samples.resize(static_cast<size_t>(capacity.tokens));
  batch.cu_seqlens.resize(static_cast<size_t>(capacity.segments) + 1);
  batch.labelled_rows.resize(static_cast<size_t>(capacity.labelled_rows));
  batch.labelled_targets.resize(static_cast<size_t>(capacity.labelled_rows));
  batch.longest_segment = capacity.longest_segment;
  return batch;
}

namespace {

Work work_of(const RehearsalBackend& backend, const Communicator& ranks) {
  Work work = backend.work();
  work.link_bytes = static_cast<double>(ranks.traffic().bytes());
  return work;
}

// Micro-batches of one shape do the same work, so two tell that of any number of them.
Work rehearse_step(Trainer& trainer, RehearsalBackend& backend, Communicator& ranks,
                   const Capacity& capacity, int64_t accumulation) {
  const std::vector<Batch> batches(accumulation == 1 ? 1 : 2, make_capacity_batch(capacity));
  const std::span<const Batch> step(batches);
  const auto measured = [&](std::span<const Batch> micro_batches) {
    backend.reset_work();
    ranks.reset_traffic();
    trainer.step(micro_batches, 0);
    return work_of(backend, ranks);
  };
  const Work one = measured(step.first(1));
  if (accumulation == 1) return one;
  const Work both = measured(step);
  const auto more = static_cast<double>(accumulation - 1);
  return {one.gemm_flops + more * (both.gemm_flops - one.gemm_flops),
          one.bytes_moved + more * (both.bytes_moved - one.bytes_moved),
          one.page_bytes + more * (both.page_bytes - one.page_bytes),
          one.link_bytes + more * (both.link_bytes - one.link_bytes)};
}

QuantisedWeights quantised_weights(const Model& model) {
  QuantisedWeights sum;
  for (const Parameter& parameter : model.parameters()) {
    // Streamed ones lie in the page file.
    if (parameter.storage != DType::u4 || parameter.streamed_block >= 0) continue;
    // A cut one is this rank's share.
    sum.elements += parameter.cut.value ? parameter.cut.share : parameter.elements();
    const ParameterMemory& memory = parameter.memory;
    sum.bytes += memory.value.bytes() + memory.absmax.bytes();
    // An empty tensor is a scalar, not nothing.
    if (parameter.scales.nested) sum.bytes += memory.nested_absmax.bytes();
  }
  return sum;
}

}  // namespace

Rehearsal rehearse(const TrainSpec& spec, int64_t accumulation, const TargetProfile& profile) {
  const std::unique_ptr<RehearsalBackend> backend = open_rehearsal(profile);
  const std::unique_ptr<Communicator> ranks = open_rehearsal_rank(spec.world);
  Ledger ledger;
  Rehearsal rehearsal;
  {
    Arena arena(backend->device(), ledger);
    Trainer trainer(*backend, arena, spec, &backend->pages(), ranks.get());
    trainer.load({}, true);
    rehearsal.resident_bytes = ledger.current();
    rehearsal.states = trainer.optimizer().summary();
    rehearsal.quantised = quantised_weights(trainer.model());

    rehearsal.step_work = rehearse_step(trainer, *backend, *ranks, spec.capacity, accumulation);
    rehearsal.traffic = ranks->traffic();
    rehearsal.schedule_hash = ranks->schedule_hash();
    rehearsal.step_seconds = rehearsal.step_work.seconds(profile);

    if (spec.eval_capacity) trainer.evaluate(make_capacity_batch(*spec.eval_capacity));
    trainer.save(nullptr, nullptr, "");
    trainer.write_checkpoint(nullptr);
    trainer.read_checkpoint(nullptr, {});
    rehearsal.layout = solve_layout(arena.trace());
    rehearsal.snapshot = ledger.snapshot();
  }
  return rehearsal;
}

Rehearsal rehearse_generation(const GeneratorSpec& spec, const TargetProfile& profile) {
  const std::unique_ptr<RehearsalBackend> backend = open_rehearsal(profile);
  Ledger ledger;
  Rehearsal rehearsal;
  {
    Arena arena(backend->device(), ledger);
    Generator generator(*backend, arena, spec);
    generator.load(nullptr, nullptr);
    const std::vector<int32_t> piece(static_cast<size_t>(spec.piece));
    generator.pass(piece);
    rehearsal.layout = solve_layout(arena.trace());
    rehearsal.snapshot = ledger.snapshot();
  }
  return rehearsal;
}

}  // namespace cairn
