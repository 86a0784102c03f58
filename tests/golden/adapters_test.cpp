// PEFT's adapters with rank-stabilised scaling and with modules trained in full beside the pairs:
// its logits, its gradients, and the first steps of LLaMA-Factory's LoRA+.
#include <gtest/gtest.h>

#include <cmath>

#include "golden/golden_files.h"
#include "model/adapter.h"
#include "model/generator.h"
#include "plan/rehearse.h"
#include "support/gradient_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

class Adapters : public ::testing::TestWithParam<const char*> {
 protected:
  Adapters()
      : folder_(golden_path(std::string("adapters/") + GetParam())),
        facts_(read_json(folder_ + "/golden.json")),
        base_(facts_["base"]),
        adapter_(folder_ + "/adapter_model.safetensors"),
        golden_(folder_ + "/golden.safetensors"),
        backend_(open_backend("cpu", 2)) {
    spec_.config = base_.config;
    spec_.activation = spec_.frozen_storage = DType::f32;
    spec_.lora = read_adapter_config(folder_);
  }

  // As tiny_llama_test bounds what three layers of products may lose.
  double bound() const {
    return 6 * static_cast<double>(spec_.config.num_layers) *
           tolerance(DType::f32, spec_.config.intermediate);
  }

  std::vector<float> logits_of(const Example& sequence) {
    GeneratorSpec generation;
    generation.model = spec_;
    generation.model.trains = false;
    generation.capacity = sequence.tokens();
    generation.piece = 1;
    const Rehearsal rehearsal = rehearse_generation(generation, backend_->profile());
    Ledger ledger;
    Arena arena(backend_->device(), ledger, rehearsal.layout);
    Generator generator(*backend_, arena, generation);
    generator.load(&base_.model, &adapter_);
    std::vector<float> logits;
    for (size_t t = 0; t < sequence.ids.size(); ++t) {
      generator.pass(std::span(sequence.ids).subspan(t, 1));
      logits.insert(logits.end(), generator.logits().begin(), generator.logits().end());
    }
    return logits;
  }

  std::string folder_;
  nlohmann::json facts_;
  TinyGolden base_;
  SafetensorsFile adapter_, golden_;
  ModelSpec spec_;
  std::unique_ptr<Backend> backend_;
};

TEST_P(Adapters, logits_equal_peft) {
  EXPECT_LT(relative_error(logits_of(base_.sequences[1]), read_values(golden_, "logits.1")),
            bound());
}

TEST_P(Adapters, every_gradient_equals_peft) {
  GradientRun run;
  run.spec = spec_;
  run.micro_batches = {base_.batch()};
  run.weights = &base_.model;
  run.adapter = &adapter_;
  const GradientResult result = run_gradients(run, *backend_);
  EXPECT_NEAR(result.loss, facts_["loss"].get<double>(), bound() * result.loss);
  const nlohmann::json& wanted = facts_["gradient_checks"];
  ASSERT_EQ(result.gradients.size(), wanted.size());
  for (const NamedGradient& gradient : result.gradients) {
    const bool pair = gradient.name.starts_with("base_model.");
    const auto& sums = wanted[pair ? gradient.name : "base_model.model." + gradient.name];
    double squares = 0, weighted = 0;
    for (size_t i = 0; i < gradient.values.size(); ++i) {
      const double value = gradient.values[i];
      squares += value * value;
      weighted += value * static_cast<double>(i % 97) / 97;
    }
    const double norm = std::sqrt(squares);
    EXPECT_NEAR(squares, sums["sum_of_squares"].get<double>(), 10 * bound() * squares)
        << gradient.name;
    // A weighted sum may cancel: its terms are bounded by the norm times the root of their number.
    EXPECT_NEAR(weighted, sums["weighted_sum"].get<double>(),
                bound() * norm * std::sqrt(static_cast<double>(gradient.values.size())))
        << gradient.name;
  }
}

TEST_P(Adapters, first_losses_of_lora_plus_equal_pytorch_with_its_groups) {
  TrainSpec train;
  train.model = spec_;
  train.model.lora->learning_rate_ratio = facts_["loraplus_lr_ratio"];
  train.optimizer.weight_decay = facts_["weight_decay"];
  train.max_grad_norm = facts_["max_grad_norm"];
  const std::vector<Batch> step = {base_.batch()};
  train.capacity = capacity_of(step[0]);
  train.checkpointing = uniform_policy(Keep::input, spec_.config.num_layers);
  const Rehearsal rehearsal = rehearse(train, 1, backend_->profile());
  Ledger ledger;
  Arena arena(backend_->device(), ledger, rehearsal.layout);
  Trainer trainer(*backend_, arena, train);
  trainer.load({&base_.model, &adapter_});
  for (const nlohmann::json& loss : facts_["losses"]) {
    const double wanted = loss.get<double>();
    EXPECT_NEAR(trainer.step(step, facts_["learning_rate"]).loss, wanted, 10 * bound() * wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(of_peft, Adapters,
                         ::testing::Values("rslora", "beside", "beside_tied", "beside_tied_both"));

}  // namespace
}  // namespace cairn::test
