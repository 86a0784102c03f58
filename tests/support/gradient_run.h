// One forward, loss and backward of a model outside of any trainer, so that a test can read every
// gradient; rehearsed first, as everything is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "data/batch.h"
#include "files/tensor_source.h"
#include "model/model.h"

namespace cairn::test {

struct GradientRun {
  ModelSpec spec;
  Keep keep = Keep::input;                // of every block
  std::vector<Batch> micro_batches;       // gradients add up over them
  const TensorSource* weights = nullptr;  // null: random, by seed
  const TensorSource* adapter = nullptr;
  std::function<void(Parameter&)> set_value;  // called for each parameter once loaded, or none
  uint64_t seed = 1;
  uint64_t dropout_seed = 1;  // of the step
};

struct NamedGradient {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

struct GradientResult {
  double loss = 0;  // mean over labelled tokens
  std::vector<NamedGradient> gradients;
  const NamedGradient& of(const std::string& name) const;
};

// A set_value: B of a fresh pair is zero, and with it the gradient of A, so that there would be
// nothing to compare. For pairs in f32.
void fill_second_halves(Parameter& parameter);

// The norm of the difference over the norm of `a`.
double relative_difference(const NamedGradient& a, const NamedGradient& b);

GradientResult run_gradients(const GradientRun& run, Backend& backend);

// A parameter's value or gradient as f32 on the host.
std::vector<float> read_floats(ConstView view);

}  // namespace cairn::test
