// Warm-up: a step of a very small model, so that threads and libraries have taken what they take
// before the process is measured.
#include "backend/registry.h"
#include "train/engine.h"

namespace cairn {

void warm_up(Backend& backend) {
  TrainSpec spec;
  spec.model.config.hidden = 64;
  spec.model.config.intermediate = 128;
  spec.model.config.num_layers = 1;
  spec.model.config.num_heads = 2;
  spec.model.config.num_kv_heads = 1;
  spec.model.config.head_dim = 32;
  spec.model.config.vocab = 64;
  spec.model.lora = LoraSpec();
  spec.checkpointing = uniform_policy(Keep::input, spec.model.config.num_layers);
  Example example;
  for (int32_t id = 0; id < 48; ++id) {
    example.ids.push_back(id);
    example.labels.push_back(id);
  }
  const Example* examples[] = {&example};
  const std::vector<Batch> batch = {make_batch(examples)};
  spec.capacity = capacity_of(batch[0]);

  // Rehearsed first, like every run.
  Ledger ledger;
  Trace trace;
  {
    const auto rehearsal = open_rehearsal(backend.profile());
    Arena arena(rehearsal->device(), ledger);
    Trainer trainer(*rehearsal, arena, spec);
    trainer.load({}, true);
    trainer.step(batch, 0);
    trace = arena.trace();
  }
  Arena arena(backend.device(), ledger, solve_layout(trace));
  Trainer trainer(backend, arena, spec);
  trainer.load({});
  trainer.step(batch, 1e-3);
}

}  // namespace cairn
