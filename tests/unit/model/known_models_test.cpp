// Shapes of well-known models against the parameter counts that their authors published.
#include "model/known_models.h"

#include <gtest/gtest.h>

#include <map>

#include "model/model.h"

namespace cairn::test {
namespace {

// Of the safetensors that each model's page shows; of Gemma 3 from 4B on, without the vision tower.
const std::map<std::string, int64_t> kPublished = {
    {"meta-llama/Llama-2-7b-chat-hf", 6'738'415'616},
    {"meta-llama/Llama-2-70b-hf", 68'976'648'192},
    {"meta-llama/Meta-Llama-3-8B-Instruct", 8'030'261'248},
    {"meta-llama/Llama-3.1-70B", 70'553'706'496},
    {"meta-llama/Llama-3.2-1B", 1'235'814'400},
    {"meta-llama/Llama-3.2-3B-Instruct", 3'212'749'824},
    {"HuggingFaceTB/SmolLM2-135M-Instruct", 134'515'008},
    {"mistralai/Mistral-7B-v0.1", 7'241'732'096},
    {"mistralai/Mistral-7B-Instruct-v0.3", 7'248'023'552},
    {"mistralai/Mistral-Nemo-Instruct-2407", 12'247'782'400},
    {"mistralai/Mistral-Small-24B-Base-2501", 23'572'403'200},
    {"Qwen/Qwen2-7B", 7'615'616'512},
    {"Qwen/Qwen2.5-0.5B", 494'032'768},
    {"Qwen/Qwen2.5-1.5B-Instruct", 1'543'714'304},
    {"Qwen/Qwen2.5-3B", 3'085'938'688},
    {"Qwen/Qwen2.5-7B", 7'615'616'512},
    {"Qwen/Qwen2.5-Coder-14B-Instruct", 14'770'033'664},
    {"Qwen/Qwen2.5-32B", 32'763'876'352},
    {"Qwen/Qwen2.5-72B-Instruct", 72'706'203'648},
    {"Qwen/Qwen3-0.6B", 596'049'920},
    {"Qwen/Qwen3-4B-Instruct-2507", 4'022'468'096},
    {"Qwen/Qwen3-8B", 8'190'735'360},
    {"Qwen/Qwen3-14B-Base", 14'768'307'200},
    {"Qwen/Qwen3-32B", 32'762'123'264},
    {"google/gemma-2-2b-it", 2'614'341'888},
    {"google/gemma-2-9b", 9'241'705'984},
    {"google/gemma-2-27b-it", 27'227'128'320},
    {"google/gemma-3-270m", 268'098'176},
    {"google/gemma-3-1b-pt", 999'885'952},
    {"microsoft/Phi-3-mini-4k-instruct", 3'821'079'552},
    {"microsoft/Phi-3.5-mini-instruct", 3'821'079'552},
    {"microsoft/Phi-3-medium-4k-instruct", 13'960'238'080},
    {"microsoft/phi-4", 14'659'507'200},
    {"microsoft/Phi-4-mini-instruct", 3'836'021'760},
};

TEST(KnownModels, have_as_many_parameters_as_published) {
  for (const auto& [name, parameters] : kPublished) {
    const auto config = find_known_model(name);
    ASSERT_TRUE(config.has_value()) << name;
    EXPECT_EQ(config->num_parameters(), parameters) << name;
  }
}

TEST(KnownModels, declare_as_many_parameters_as_their_configuration_counts) {
  for (const std::string& name : known_model_names()) {
    ModelSpec spec;
    spec.config = *find_known_model(name);
    spec.trains = false;
    const Model model(spec);
    int64_t elements = 0;
    for (const Parameter& parameter : model.parameters()) elements += parameter.elements();
    EXPECT_EQ(elements, spec.config.num_parameters()) << name;
  }
}

TEST(KnownModels, carry_what_sets_their_family_apart) {
  EXPECT_EQ(find_known_model("mistral-7b-v0.1")->window_of(31), 4096);
  EXPECT_EQ(find_known_model("mistral-7b-v0.3")->window_of(0), 0);
  EXPECT_TRUE(find_known_model("qwen2.5-7b")->qkv_bias);
  EXPECT_TRUE(find_known_model("qwen3-8b")->head_norms);
  const auto gemma2 = find_known_model("google/gemma-2-27b");
  EXPECT_EQ(gemma2->window_of(0), 4096);
  EXPECT_EQ(gemma2->window_of(1), 0);
  EXPECT_FLOAT_EQ(gemma2->attention_scale(), 1 / 12.0f);
  EXPECT_EQ(gemma2->attention_softcap, 50);
  EXPECT_EQ(gemma2->logit_softcap, 30);
  const auto gemma3 = find_known_model("google/gemma-3-4b-it");
  EXPECT_EQ(gemma3->window_of(4), 1024);
  EXPECT_EQ(gemma3->window_of(5), 0);
  EXPECT_TRUE(gemma3->is_local(4));
  EXPECT_EQ(gemma3->rope_scaling->factor, 8);
  EXPECT_EQ(gemma3->embedding_scale(DType::bf16), 50.5f);
  EXPECT_FALSE(find_known_model("google/gemma-3-1b-it")->rope_scaling.has_value());
  const auto phi = find_known_model("microsoft/Phi-4-mini-instruct");
  EXPECT_EQ(phi->rotary_width(), 96);
  EXPECT_EQ(phi->product_names().front(), "qkv_proj");
  EXPECT_EQ(find_known_model("no-such-model"), std::nullopt);
}

}  // namespace
}  // namespace cairn::test
