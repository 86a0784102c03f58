// Every family against PyTorch, transformers and peft: logits, loss and gradients of a random
// checkpoint that transformers wrote, and rotary frequencies of published configurations.
#include <gtest/gtest.h>

#include <cmath>

#include "golden/golden_files.h"
#include "model/generator.h"
#include "plan/rehearse.h"
#include "support/gradient_run.h"
#include "support/small_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

class FamilyGolden : public ::testing::TestWithParam<const char*> {
 protected:
  FamilyGolden()
      : golden_(std::string("families/") + GetParam()), backend_(open_backend("cpu", 2)) {}

  ModelSpec spec(bool lora, DType storage) const {
    ModelSpec spec;
    spec.config = golden_.config;
    spec.activation = storage;
    spec.frozen_storage = storage;
    if (!lora) return spec;
    LoraSpec pairs;
    pairs.rank = golden_.facts["lora"]["r"];
    pairs.alpha = golden_.facts["lora"]["alpha"];
    spec.lora = pairs;
    return spec;
  }

  // Layers of products, each within the tolerance of its longest sum, and as much again for the
  // reference's own rounding.
  double bound() const {
    return 12 * static_cast<double>(golden_.config.num_layers) *
           tolerance(DType::f32, golden_.config.intermediate);
  }

  // The logits of every position of a sequence through the cache, `piece` tokens at a time; only
  // those of each piece's last token are seen.
  std::vector<float> logits_of(const Example& sequence, bool lora, DType storage) {
    GeneratorSpec generation;
    generation.model = spec(lora, storage);
    generation.model.trains = false;
    generation.capacity = sequence.tokens();
    generation.piece = 1;
    const Rehearsal rehearsal = rehearse_generation(generation, backend_->profile());
    Ledger ledger;
    Arena arena(backend_->device(), ledger, rehearsal.layout);
    Generator generator(*backend_, arena, generation);
    generator.load(&golden_.model, lora ? &golden_.adapter : nullptr);
    std::vector<float> logits;
    for (size_t t = 0; t < sequence.ids.size(); ++t) {
      generator.pass(std::span(sequence.ids).subspan(t, 1));
      logits.insert(logits.end(), generator.logits().begin(), generator.logits().end());
    }
    return logits;
  }

  GradientResult gradients(bool lora, AttentionKind attention) {
    GradientRun run;
    run.spec = spec(lora, DType::f32);
    run.spec.attention = attention;
    run.micro_batches = {golden_.batch()};
    run.weights = &golden_.model;
    if (lora) run.adapter = &golden_.adapter;
    return run_gradients(run, *backend_);
  }

  TinyGolden golden_;
  std::unique_ptr<Backend> backend_;
};

TEST_P(FamilyGolden, logits_equal_transformers) {
  for (size_t s = 0; s < golden_.sequences.size(); ++s)
    EXPECT_LT(relative_error(logits_of(golden_.sequences[s], false, DType::f32),
                             golden_.floats("base.logits_f32." + std::to_string(s))),
              bound());
}

TEST_P(FamilyGolden, logits_with_adapter_equal_peft) {
  EXPECT_LT(relative_error(logits_of(golden_.sequences[1], true, DType::f32),
                           golden_.floats("lora.logits_f32.1")),
            bound());
}

// A bf16 run rounds where Cairn stores, not where PyTorch does: as near to f32 as transformers'
// own.
TEST_P(FamilyGolden, bf16_logits_are_as_near_as_transformers_bf16) {
  for (size_t s = 0; s < golden_.sequences.size(); ++s) {
    const std::string index = std::to_string(s);
    const std::vector<float> exact = golden_.floats("base.logits_f32." + index);
    EXPECT_LT(relative_error(logits_of(golden_.sequences[s], false, DType::bf16), exact),
              1.5 * relative_error(golden_.floats("base.logits_bf16." + index), exact));
  }
}

TEST_P(FamilyGolden, adapter_gradients_equal_peft) {
  for (const AttentionKind kind : {AttentionKind::flash, AttentionKind::materialised}) {
    const GradientResult result = gradients(true, kind);
    const double loss = golden_.facts["lora"]["loss"];
    EXPECT_NEAR(result.loss, loss, bound() * loss);
    EXPECT_EQ(result.gradients.size(), golden_.adapter.tensors().size());
    for (const NamedGradient& gradient : result.gradients)
      EXPECT_LT(relative_error(gradient.values, golden_.floats("lora.gradient." + gradient.name)),
                10 * bound())
          << gradient.name;
  }
}

TEST_P(FamilyGolden, full_gradients_equal_pytorch) {
  const GradientResult result = gradients(false, AttentionKind::flash);
  const double loss = golden_.facts["full"]["loss"];
  EXPECT_NEAR(result.loss, loss, bound() * loss);
  const nlohmann::json& checks = golden_.facts["full"]["gradient_checks"];
  EXPECT_EQ(result.gradients.size(), checks.size());
  for (const NamedGradient& gradient : result.gradients) {
    ASSERT_TRUE(checks.contains(gradient.name)) << gradient.name;
    double squares = 0, weighted = 0;
    for (size_t i = 0; i < gradient.values.size(); ++i) {
      squares += static_cast<double>(gradient.values[i]) * gradient.values[i];
      weighted += static_cast<double>(gradient.values[i]) * static_cast<double>(i % 97) / 97;
    }
    const double wanted = checks[gradient.name]["sum_of_squares"];
    EXPECT_NEAR(squares, wanted, 10 * bound() * wanted) << gradient.name;
    EXPECT_NEAR(weighted, checks[gradient.name]["weighted_sum"].get<double>(),
                10 * bound() * std::sqrt(wanted * static_cast<double>(gradient.values.size())))
        << gradient.name;
    const std::string stored = "full.gradient." + gradient.name;
    if (golden_.golden.find(stored)) {
      EXPECT_LT(relative_error(gradient.values, golden_.floats(stored)), 10 * bound())
          << gradient.name;
    }
  }
}

// The head of a folder that transformers wrote, and the names of what is in it.
TEST_P(FamilyGolden, no_tensor_of_the_file_is_left_over) {
  Model model(spec(false, DType::bf16));
  int64_t elements = 0;
  for (const Parameter& parameter : model.parameters()) elements += parameter.elements();
  EXPECT_EQ(elements, golden_.config.num_parameters());
  for (const TensorInfo& info : golden_.model.tensors())
    EXPECT_NE(model.find(info.name), nullptr) << info.name;
  EXPECT_EQ(model.parameters().size(), golden_.model.tensors().size());
}

INSTANTIATE_TEST_SUITE_P(families, FamilyGolden,
                         ::testing::Values("llama_biases", "llama_dynamic", "mistral", "qwen2",
                                           "qwen3", "gemma2", "gemma3", "phi3"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(RotarySpectra, equal_those_of_transformers) {
  const nlohmann::json cases = read_json(golden_path("spectra.json"));
  EXPECT_GE(cases.size(), 9u);
  for (const auto& [name, facts] : cases.items()) {
    SCOPED_TRACE(name);
    const auto width = facts["head_dim"].get<int64_t>();
    const RopeReading reading =
        read_rope(facts["rope"], 10000, width, facts["max_position_embeddings"], 0);
    const RotarySpectrum spectrum =
        make_spectrum(reading.theta, width, reading.scaling, facts["positions"]);
    const auto wanted = facts["frequencies"].get<std::vector<double>>();
    ASSERT_EQ(spectrum.frequencies.size(), wanted.size());
    // transformers computes them in f32: a power, and a ramp between two of them.
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(spectrum.frequencies[i], wanted[i], 16 * tolerance(DType::f32, 1) * wanted[i])
          << i;
    EXPECT_NEAR(spectrum.magnitude, facts["magnitude"].get<double>(),
                tolerance(DType::f32, 1) * spectrum.magnitude);
  }
}

}  // namespace
}  // namespace cairn::test
