// SmolLM2-135M-Instruct against transformers and peft. The model is not in the tree: this runs
// where CAIRN_SMOLLM2_GGUF, or the quickstart's cache, holds the GGUF file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "files/model_files.h"
#include "golden/golden_files.h"
#include "model/generator.h"
#include "plan/rehearse.h"
#include "support/gradient_run.h"
#include "support/tolerance.h"

namespace cairn::test {
namespace {

std::string model_path() {
  if (const char* given = std::getenv("CAIRN_SMOLLM2_GGUF")) return given;
  return std::string(CAIRN_SOURCE_DIR) + "/.cache/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

class SmolLm2 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(model_path()))
      GTEST_SKIP() << "there is no " << model_path()
                   << "; set CAIRN_SMOLLM2_GGUF or run ./quickstart first";
    facts_ = read_json(golden_path("smollm2.json"));
    files_ = open_model(model_path());
    backend_ = open_backend("cpu", 0);
  }
  // Weights as Cairn stores them, bf16; arithmetic and activations f32, as the golden's.
  ModelSpec spec(bool lora) const {
    ModelSpec spec;
    spec.config = parse_model_config(files_.config);
    spec.activation = DType::f32;
    spec.frozen_storage = DType::bf16;
    if (lora) spec.lora = LoraSpec();
    return spec;
  }
  // Thirty layers, each within the tolerance of its longest sum, here and in the reference.
  double bound() const { return 6 * 30 * tolerance(DType::f32, 1536); }

  Batch batch() const {
    std::vector<Example> sequences;
    for (const nlohmann::json& one : facts_["sequences"])
      sequences.push_back(
          {one["ids"].get<std::vector<int32_t>>(), one["labels"].get<std::vector<int32_t>>()});
    std::vector<const Example*> pointers;
    for (const Example& example : sequences) pointers.push_back(&example);
    return make_batch(pointers);
  }

  nlohmann::json facts_;
  ModelFiles files_;
  std::unique_ptr<Backend> backend_;
};

// The golden's adapter: a formula of the tensor's index among the sorted names and the element's.
float adapter_value(uint32_t tensor, uint32_t element) {
  uint32_t x = element * 2654435761u + tensor * 40503u;
  x ^= x >> 16;
  x *= 0x045D9F3Bu;
  x ^= x >> 16;
  return (static_cast<float>(x & 0xFFFFu) / 65536.0f - 0.5f) / 8.0f;
}

TEST_F(SmolLm2, last_logits_equal_transformers) {
  for (size_t s = 0; s < 2; ++s) {
    const auto ids = facts_["sequences"][s]["ids"].get<std::vector<int32_t>>();
    GeneratorSpec generation;
    generation.model = spec(false);
    generation.model.trains = false;
    generation.capacity = generation.piece = static_cast<int64_t>(ids.size());
    const Rehearsal rehearsal = rehearse_generation(generation, backend_->profile());
    Ledger ledger;
    Arena arena(backend_->device(), ledger, rehearsal.layout);
    Generator generator(*backend_, arena, generation);
    generator.load(files_.weights.get(), nullptr);
    generator.pass(ids);
    const nlohmann::json& logits = facts_["base"]["logits"][s];
    std::vector<float> got;
    for (const nlohmann::json& id : logits["last_top_ids"])
      got.push_back(generator.logits()[id.get<size_t>()]);
    EXPECT_LT(relative_error(got, logits["last_top_values"].get<std::vector<float>>()), bound());
  }
}

TEST_F(SmolLm2, loss_and_every_adapter_gradient_equal_peft) {
  std::map<std::string, uint32_t> index;
  for (const nlohmann::json& tensor : facts_["lora"]["tensors"])
    index.emplace(tensor["name"], static_cast<uint32_t>(index.size()));
  GradientRun run;
  run.spec = spec(true);
  run.micro_batches = {batch()};
  run.weights = files_.weights.get();
  run.set_value = [&](Parameter& parameter) {
    if (!parameter.adapter) return;
    float* values = parameter.value.as<float>();
    for (int64_t i = 0; i < parameter.elements(); ++i)
      values[i] = adapter_value(index.at(parameter.name), static_cast<uint32_t>(i));
  };
  const GradientResult result = run_gradients(run, *backend_);
  const double wanted_loss = facts_["lora"]["loss"];
  EXPECT_NEAR(result.loss, wanted_loss, bound() * wanted_loss);
  ASSERT_EQ(result.gradients.size(), 420u);
  for (const NamedGradient& gradient : result.gradients) {
    const nlohmann::json& wanted = facts_["lora"]["tensors"][index.at(gradient.name)];
    double squares = 0;
    for (float value : gradient.values) squares += static_cast<double>(value) * value;
    const double norm = wanted["gradient_norm"];
    EXPECT_NEAR(std::sqrt(squares), norm, 10 * bound() * norm) << gradient.name;
    const auto first = wanted["gradient_first"].get<std::vector<float>>();
    const double typical = norm / std::sqrt(static_cast<double>(gradient.values.size()));
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_NEAR(gradient.values[i], first[i], 100 * bound() * typical)
          << gradient.name << " element " << i;
  }
}

}  // namespace
}  // namespace cairn::test
