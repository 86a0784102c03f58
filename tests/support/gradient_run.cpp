#include "support/gradient_run.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "model/loading.h"
#include "numeric/bfloat16.h"
#include "ops/moving.h"
#include "plan/rehearse.h"
#include "train/device_batch.h"

namespace cairn::test {
namespace {

Capacity capacity_of_all(const std::vector<Batch>& batches) {
  Capacity capacity;
  for (const Batch& batch : batches) capacity = elementwise_max(capacity, capacity_of(batch));
  return capacity;
}

void load(const GradientRun& run, const Exec& exec, Model& model, bool real, int64_t positions) {
  const Arena::PhaseScope phase(exec.arena, Phase::load);
  model.allocate(exec, positions);
  if (real) model.write_tables(exec);
  if (real && !run.weights)
    start_random(exec, model, run.seed);
  else
    load_weights(exec, model, real ? run.weights : nullptr);
  if (run.spec.lora) load_adapter(exec, model, real ? run.adapter : nullptr);
  if (real && run.spec.lora && !run.adapter) start_adapter(exec, model, run.seed);
  for (Parameter& parameter : model.parameters()) {
    if (parameter.trainable) ops::fill_zero(exec, parameter.gradient.view());
    if (real && run.set_value) run.set_value(parameter);
  }
}

// The same work for the rehearsal and for the run.
GradientResult work(const GradientRun& run, Backend& backend, Arena& arena, bool real) {
  const Exec exec{backend, arena};
  Model model(run.spec);
  const Capacity capacity = capacity_of_all(run.micro_batches);
  load(run, exec, model, real, capacity.longest_segment);
  double labels = 0;
  for (const Batch& batch : run.micro_batches) labels += static_cast<double>(batch.labelled());
  GradientResult result;
  for (const Batch& batch : run.micro_batches) {
    const Arena::PhaseScope phase(arena, Phase::step);
    const DeviceBatch on_device(exec, batch, capacity, model.drops());
    Pass pass = on_device.make_pass(model);
    pass.dropout_seed = run.dropout_seed;
    result.loss += model.train_pass(pass, uniform_policy(run.keep, run.spec.config.num_layers),
                                    static_cast<float>(1 / labels));
  }
  result.loss /= labels;
  if (!real) return result;
  for (const Parameter& parameter : model.parameters())
    if (parameter.trainable)
      result.gradients.push_back(
          {parameter.name, parameter.shape, read_floats(parameter.gradient.view())});
  return result;
}

}  // namespace

std::vector<float> read_floats(ConstView view) {
  std::vector<float> values(static_cast<size_t>(view.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = view.dtype() == DType::f32 ? view.as<float>()[i] : to_float(view.as<bf16>()[i]);
  return values;
}

void fill_second_halves(Parameter& parameter) {
  if (!parameter.name.ends_with("lora_B.weight")) return;
  float* values = parameter.value.as<float>();
  for (int64_t i = 0; i < parameter.elements(); ++i)
    values[i] = 0.05f * Random(3).normal(static_cast<uint64_t>(i));
}

const NamedGradient& GradientResult::of(const std::string& name) const {
  const auto found = std::find_if(gradients.begin(), gradients.end(),
                                  [&](const NamedGradient& g) { return g.name == name; });
  CAIRN_CHECK(found != gradients.end(), "[test] wanted a gradient of '{}', got none", name);
  return *found;
}

double relative_difference(const NamedGradient& a, const NamedGradient& b) {
  CAIRN_CHECK(a.values.size() == b.values.size(), "[test] wanted gradients of {}, got {} and {}",
              a.name, a.values.size(), b.values.size());
  double squares = 0, difference = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    squares += std::pow(static_cast<double>(a.values[i]), 2);
    difference += std::pow(static_cast<double>(a.values[i]) - b.values[i], 2);
  }
  return difference == 0 ? 0 : std::sqrt(difference / squares);
}

GradientResult run_gradients(const GradientRun& run, Backend& backend) {
  Ledger ledger;
  Layout layout;
  {
    const auto rehearsal = open_rehearsal(backend.profile());
    Arena arena(rehearsal->device(), ledger);
    work(run, *rehearsal, arena, false);
    layout = solve_layout(arena.trace());
  }
  Arena arena(backend.device(), ledger, layout);
  return work(run, backend, arena, true);
}

}  // namespace cairn::test
