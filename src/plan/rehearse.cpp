#include "plan/rehearse.h"

namespace cairn {

Batch make_capacity_batch(const Capacity& capacity) {
  Batch batch;
  batch.ids.resize(static_cast<size_t>(capacity.tokens));
  batch.positions.resize(static_cast<size_t>(capacity.tokens));
  batch.cu_seqlens.resize(static_cast<size_t>(capacity.segments) + 1);
  batch.labelled_rows.resize(static_cast<size_t>(capacity.labelled_rows));
  batch.labelled_targets.resize(static_cast<size_t>(capacity.labelled_rows));
  batch.longest_segment = capacity.longest_segment;
  return batch;
}

namespace {

// The work of `count` pieces, of which one and two were counted.
Work extrapolate(const Work& one, const Work& two, int64_t count) {
  const auto more = [count](double first, double both) {
    return first + static_cast<double>(count - 1) * (both - first);
  };
  return {more(one.gemm_flops, two.gemm_flops), more(one.bytes_moved, two.bytes_moved),
          more(one.page_bytes, two.page_bytes)};
}

}  // namespace

Rehearsal rehearse(const TrainSpec& spec, int64_t accumulation, const TargetProfile& profile) {
  const std::unique_ptr<RehearsalBackend> backend = open_rehearsal(profile);
  Ledger ledger;
  Rehearsal rehearsal;
  {
    Arena arena(backend->device(), ledger);
    Trainer trainer(*backend, arena, spec, &backend->pages());
    trainer.load({}, true);
    rehearsal.resident_bytes = ledger.current();

    // Micro-batches at capacity are all alike: what the second one adds, each further one does.
    const Batch batch = make_capacity_batch(spec.capacity);
    const auto work_of = [&](int64_t micro_batches) {
      backend->reset_work();
      trainer.step(std::vector<Batch>(static_cast<size_t>(micro_batches), batch), 0);
      return backend->work();
    };
    rehearsal.step_work = work_of(1);
    if (accumulation > 1)
      rehearsal.step_work = extrapolate(rehearsal.step_work, work_of(2), accumulation);
    rehearsal.step_seconds = rehearsal.step_work.seconds(profile);

    if (spec.eval_capacity) trainer.evaluate(make_capacity_batch(*spec.eval_capacity));
    trainer.save(nullptr, nullptr, "");
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
