#include "support/small_run.h"

#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/random.h"
#include "data/sampler.h"
#include "files/page_file.h"
#include "model/known_models.h"
#include "numeric/bfloat16.h"
#include "support/thread_ranks_run.h"

namespace cairn::test {
namespace {

// Draws one after the other from a seed.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed, 77) {}
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(bound)));
  }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

 private:
  Random random_;
  uint64_t next_ = 0;
};

Example make_example(Dice& dice, int64_t vocab, int64_t longest) {
  Example example;
  const int64_t length = 1 + dice.below(longest);
  const int64_t prompt = dice.below(length + 1);
  for (int64_t t = 0; t < length; ++t) {
    const auto id = static_cast<int32_t>(dice.below(vocab));
    example.ids.push_back(id);
    example.labels.push_back(t < prompt ? kIgnored : id);
  }
  return example;
}

// The traits of a family, one or several, as families have them.
void draw_family(Dice& dice, ModelConfig& config) {
  const auto draw_windows = [&](int64_t every) {
    for (int64_t layer = 0; layer < config.num_layers; ++layer)
      config.windows.push_back((layer + 1) % every == 0 ? 0 : 5 + dice.below(20));
  };
  switch (dice.below(7)) {
    case 0:
      config.qkv_bias = true;
      config.output_bias = config.mlp_bias = dice.below(2) == 0;
      break;
    case 1:
      config.head_norms = true;
      break;
    case 2:
    case 3:
      config.norm_offset = 1;
      config.output_norms = config.scales_embedding = true;
      config.gate = GateKind::gelu;
      config.query_scalar = 10;
      draw_windows(2);
      if (dice.below(2) == 0) {
        config.attention_softcap = 20;
        config.logit_softcap = 5;
      } else {
        config.head_norms = true;
        config.local_rope_theta = 100;
      }
      break;
    case 4:
      config.fused_projections = true;
      config.intermediate += config.intermediate % 2;  // a slice of codes begins at a whole byte
      config.rotary_dim = config.head_dim / 4 * 2;
      draw_windows(config.num_layers + 1);
      break;
    default:
      break;
  }
}

void choose_lora_options(Dice& dice, LoraSpec& lora) {
  lora.dropout = dice.pick({0.0, 0.0, 0.1, 0.5});
  lora.rank_stabilized = dice.below(3) == 0;
  lora.learning_rate_ratio = dice.pick({1.0, 16.0});
  if (dice.below(3) == 0) lora.modules_to_save = {"embed_tokens"};
  if (dice.below(3) == 0)
    lora.modules_to_save.insert(lora.modules_to_save.end(), {"lm_head", "norm"});
}

std::vector<float> read_values(Parameter& parameter) {
  const ConstView view = parameter.cut.value ? parameter.view_own_value() : parameter.value;
  std::vector<float> values(static_cast<size_t>(view.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = view.dtype() == DType::f32 ? view.as<float>()[i] : to_float(view.as<bf16>()[i]);
  return values;
}

}  // namespace

std::vector<Example> make_examples(uint64_t seed, int64_t vocab, int64_t count, int64_t longest) {
  Dice dice(seed);
  std::vector<Example> examples;
  for (int64_t i = 0; i < count; ++i) {
    examples.push_back(make_example(dice, vocab, longest));
    examples.back().labels.back() = examples.back().ids.back();
  }
  return examples;
}

std::vector<Batch> make_batches(uint64_t seed, int64_t vocab, int64_t count, int64_t examples,
                                int64_t longest) {
  Dice dice(seed);
  std::vector<Batch> batches;
  for (int64_t b = 0; b < count; ++b) {
    std::vector<Example> rows;
    for (int64_t i = 0; i < examples; ++i) rows.push_back(make_example(dice, vocab, longest));
    rows.back().labels.assign(rows.back().ids.begin(), rows.back().ids.end());
    std::vector<const Example*> pointers;
    for (const Example& row : rows) pointers.push_back(&row);
    batches.push_back(make_batch(pointers));
  }
  return batches;
}

ModelConfig make_small_config(uint64_t seed) {
  Dice dice(seed);
  ModelConfig config;
  config.head_dim = dice.pick<int64_t>({8, 16, 32, 40});
  config.num_kv_heads = dice.pick<int64_t>({1, 2, 3});
  config.num_heads = config.num_kv_heads * dice.pick<int64_t>({1, 2, 3});
  config.hidden = dice.pick<int64_t>({24, 32, 57, 64, 96});
  config.intermediate = dice.pick<int64_t>({40, 64, 99, 128});
  config.num_layers = 1 + dice.below(4);
  config.vocab = dice.pick<int64_t>({50, 97, 256});
  config.tied_embeddings = dice.below(2) == 0;
  if (dice.below(3) == 0) {
    config.rope_scaling.emplace();
    config.rope_scaling->kind = RopeKind::llama3;
    config.rope_scaling->factor = 8;
    config.rope_scaling->original_max_position = 16;
  }
  draw_family(dice, config);
  return config;
}

ModelConfig make_family_config(std::string_view known_name) {
  ModelConfig config = *find_known_model(known_name);
  config.hidden = 320;
  config.intermediate = 640;
  config.num_layers = 3;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  if (config.rotary_dim != config.head_dim)
    config.rotary_dim = 48;
  else
    config.rotary_dim = 64;
  config.head_dim = 64;
  config.vocab = 4096;
  config.rope_scaling.reset();
  for (int64_t& window : config.windows) window = std::min<int64_t>(window, 40);
  return config;
}

Batch join(const std::vector<Batch>& batches) {
  Batch all;
  all.cu_seqlens = {0};
  for (const Batch& batch : batches) {
    const auto shift = static_cast<int32_t>(all.tokens());
    all.ids.insert(all.ids.end(), batch.ids.begin(), batch.ids.end());
    all.positions.insert(all.positions.end(), batch.positions.begin(), batch.positions.end());
    const int32_t before = all.samples.empty() ? 0 : all.samples.back() + 1;
    for (int32_t sample : batch.samples) all.samples.push_back(sample + before);
    all.targets.insert(all.targets.end(), batch.targets.begin(), batch.targets.end());
    for (size_t s = 1; s < batch.cu_seqlens.size(); ++s)
      all.cu_seqlens.push_back(batch.cu_seqlens[s] + shift);
    for (int32_t row : batch.labelled_rows) all.labelled_rows.push_back(row + shift);
    all.labelled_targets.insert(all.labelled_targets.end(), batch.labelled_targets.begin(),
                                batch.labelled_targets.end());
    all.longest_segment = std::max(all.longest_segment, batch.longest_segment);
  }
  return all;
}

void set_capacity(SmallRun& run) {
  run.spec.capacity = Capacity();
  for (const auto& step : run.steps)
    for (const Batch& batch : step)
      run.spec.capacity = elementwise_max(run.spec.capacity, capacity_of(batch));
  run.spec.eval_capacity.reset();
  for (const Batch& batch : run.eval)
    run.spec.eval_capacity =
        elementwise_max(run.spec.eval_capacity.value_or(Capacity()), capacity_of(batch));
}

void set_keep(SmallRun& run, Keep keep) {
  run.spec.checkpointing = uniform_policy(keep, run.spec.model.config.num_layers);
}

SmallRun make_small_run(uint64_t seed) {
  Dice dice(seed + 1000);
  SmallRun run;
  run.spec.model.config = make_small_config(seed);
  if (dice.below(2) == 0) {
    LoraSpec lora;
    lora.rank = dice.pick<int64_t>({1, 4, 8, 16});
    lora.alpha = 2 * static_cast<double>(lora.rank);
    const bool fused = run.spec.model.config.fused_projections;
    if (dice.below(3) == 0)
      lora.targets = fused ? std::vector<std::string>{"qkv_proj"}
                           : std::vector<std::string>{"q_proj", "v_proj"};
    if (dice.below(4) == 0) lora.targets = {"down_proj"};
    run.spec.model.lora = lora;
  }
  run.spec.model.activation = dice.pick({DType::bf16, DType::f32});
  run.spec.model.frozen_storage = run.spec.model.activation;
  run.spec.model.precision =
      dice.pick({TrainedPrecision::f32, TrainedPrecision::mixed, TrainedPrecision::pure_bf16});
  run.spec.model.loss_chunk = dice.pick<int64_t>({0, 1, 7, 64});
  run.spec.checkpointing =
      make_policy(*parse_policy(dice.pick<const char*>(
                      {"none", "block", "every:2", "sqrt", "nested", "selective", "offload"})),
                  run.spec.model.config.num_layers);
  run.spec.max_grad_norm = dice.pick({0.0, 1.0});
  run.spec.seed = seed;
  run.accumulation = 1 + dice.below(3);
  for (int64_t step = 0; step < 2; ++step)
    run.steps.push_back(make_batches(seed * 10 + static_cast<uint64_t>(step),
                                     run.spec.model.config.vocab, run.accumulation,
                                     1 + dice.below(4), 3 + dice.below(70)));
  if (dice.below(2) == 0)
    run.eval = make_batches(seed * 10 + 9, run.spec.model.config.vocab, 2, 2, 40);
  set_capacity(run);
  run.spec.model.attention = dice.pick({AttentionKind::flash, AttentionKind::materialised});
  if (run.spec.model.lora && dice.below(2) == 0) {
    QuantSpec quantisation;
    quantisation.nested = dice.below(3) > 0;
    quantisation.block = dice.pick<int64_t>({64, 64, 32, 256});
    if (dice.below(3) == 0) quantisation.plain_modules = {"model.layers.0.mlp.down_proj"};
    run.spec.model.quantisation = quantisation;
  }
  if (run.spec.model.lora) choose_lora_options(dice, *run.spec.model.lora);
  run.spec.model.upcast_norms = dice.below(2) == 0;
  run.spec.model.streams_weights = run.spec.model.lora && dice.below(3) == 0;
  if (run.accumulation == 1 && dice.below(2) == 0) {
    run.spec.model.unit_gradients = true;
    run.spec.clips_by_unit = dice.below(3) == 0;
  }
  run.spec.optimizer.rule =
      dice.pick({OptimizerRule::adamw, OptimizerRule::adamw, OptimizerRule::sgd});
  run.spec.optimizer.coding = dice.pick<std::optional<StateCoding>>(
      {std::nullopt, StateCoding::f32, StateCoding::blocks_8bit, StateCoding::blocks_8bit});
  run.spec.optimizer.place = dice.pick({StatePlace::resident, StatePlace::paged});
  run.spec.optimizer.page_resident = kSmallPageResident;
  return run;
}

SmallRun make_packed_run(uint64_t seed) {
  SmallRun run = make_small_run(seed);
  const std::vector<Example> examples = make_examples(seed, run.spec.model.config.vocab, 14, 40);
  const Sampler sampler(
      pack_rows(lengths_of(examples), 64),
      {.batch_size = 2, .accumulation = run.accumulation, .epochs = 1, .seed = seed});
  run.steps.clear();
  for (int64_t index = 0; index < sampler.steps(); ++index) {
    std::vector<Batch>& step = run.steps.emplace_back();
    for (const MicroBatch& micro_batch : sampler.step(index))
      step.push_back(make_batch(examples, micro_batch));
  }
  run.spec.capacity = sampler.capacity(examples);
  return run;
}

RunResult run_small(const SmallRun& run, Backend& backend, Rehearsal* rehearsal,
                    Communicator* ranks) {
  const Rehearsal planned = rehearse(run.spec, run.accumulation, backend.profile());
  if (rehearsal) *rehearsal = planned;
  RunResult result;
  Ledger ledger;
  {
    Arena arena(backend.device(), ledger, planned.layout);
    arena.prefault();
    PageFile pages(std::filesystem::temp_directory_path());
    Trainer trainer(backend, arena, run.spec, &pages, ranks);
    trainer.load({});
    for (const auto& step : run.steps) {
      if (ranks) ranks->reset_traffic();
      result.outcomes.push_back(trainer.step(step, 1e-2));
      if (ranks) result.traffic = ranks->traffic();
    }
    for (const Batch& batch : run.eval) result.eval_losses.push_back(trainer.evaluate(batch));
    trainer.save(nullptr, nullptr, "");
    trainer.write_checkpoint(nullptr);
    trainer.read_checkpoint(nullptr, {});
    result.snapshot = ledger.snapshot();
    if (const GatheredWeights* gathered = trainer.sharding().gathered())
      result.most_gathered = gathered->most_whole();
    for (Parameter& parameter : trainer.model().parameters()) {
      if (!parameter.trainable) continue;
      result.trained.push_back(read_values(parameter));
      result.cut.push_back(parameter.cut.value);
    }
  }
  result.left_after = ledger.current();
  return result;
}

namespace {

// Samples [first, first + count) of a batch.
Batch slice(const Batch& batch, int64_t first, int64_t count) {
  if (count <= 0) return make_batch({}, MicroBatch());
  const auto at = [&](int64_t segment) { return batch.cu_seqlens[static_cast<size_t>(segment)]; };
  const int32_t begin = at(first), end = at(first + count);
  const auto taken = [&](const std::vector<int32_t>& all) {
    return std::vector<int32_t>(all.begin() + begin, all.begin() + end);
  };
  Batch part;
  part.ids = taken(batch.ids);
  part.positions = taken(batch.positions);
  part.samples = taken(batch.samples);
  part.targets = taken(batch.targets);
  for (int64_t segment = first; segment <= first + count; ++segment)
    part.cu_seqlens.push_back(at(segment) - begin);
  for (int64_t segment = first; segment < first + count; ++segment)
    part.longest_segment = std::max<int64_t>(part.longest_segment, at(segment + 1) - at(segment));
  for (size_t i = 0; i < batch.labelled_rows.size(); ++i) {
    if (batch.labelled_rows[i] < begin || batch.labelled_rows[i] >= end) continue;
    part.labelled_rows.push_back(batch.labelled_rows[i] - begin);
    part.labelled_targets.push_back(batch.labelled_targets[i]);
  }
  return part;
}

Batch share_of(const Batch& batch, int rank, int ranks) {
  const int64_t each = ceil_div(batch.segments(), ranks);
  const int64_t first = std::min(batch.segments(), rank * each);
  return slice(batch, first, std::min(each, batch.segments() - first));
}

}  // namespace

std::vector<SmallRun> deal(const SmallRun& run, int ranks) {
  std::vector<SmallRun> dealt(static_cast<size_t>(ranks), run);
  Capacity capacity;
  std::optional<Capacity> eval_capacity;
  for (int rank = 0; rank < ranks; ++rank) {
    SmallRun& own = dealt[static_cast<size_t>(rank)];
    own.spec.world = {rank, ranks};
    for (auto& step : own.steps)
      for (Batch& batch : step) batch = share_of(batch, rank, ranks);
    for (Batch& batch : own.eval) batch = share_of(batch, rank, ranks);
    set_capacity(own);
    capacity = elementwise_max(capacity, own.spec.capacity);
    if (own.spec.eval_capacity)
      eval_capacity = elementwise_max(eval_capacity.value_or(Capacity()), *own.spec.eval_capacity);
  }
  for (SmallRun& own : dealt) {
    own.spec.capacity = capacity;
    own.spec.eval_capacity = eval_capacity;
  }
  return dealt;
}

std::vector<RunResult> run_on_ranks(const std::vector<SmallRun>& dealt,
                                    std::vector<Rehearsal>* rehearsals) {
  std::vector<RunResult> results(dealt.size());
  if (rehearsals) rehearsals->resize(dealt.size());
  run_on_threads(static_cast<int>(dealt.size()), [&](Communicator& ranks) {
    const auto rank = static_cast<size_t>(ranks.rank());
    const auto backend = open_backend("cpu", 1);
    results[rank] =
        run_small(dealt[rank], *backend, rehearsals ? &(*rehearsals)[rank] : nullptr, &ranks);
  });
  return results;
}

std::vector<float> whole_of(const std::vector<RunResult>& results, size_t index) {
  if (!results[0].cut[index]) return results[0].trained[index];
  std::vector<float> whole;
  for (const RunResult& result : results)
    whole.insert(whole.end(), result.trained[index].begin(), result.trained[index].end());
  return whole;
}

}  // namespace cairn::test
