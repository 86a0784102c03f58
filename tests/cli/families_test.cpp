// Every family from end to end: a plan by name without a file, a run that keeps to its plan, an
// adapter under PEFT's names, and an answer from it.
#include "cli/small_program.h"
#include "model/known_models.h"

namespace cairn::test {
namespace {

class FamilyProgram : public Program {
 protected:
  nlohmann::json json_of(const std::string& arguments) const {
    const Outcome outcome = cairn(arguments + " --json 2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return nlohmann::json::parse(outcome.output);
  }

  // Trains an adapter and a full model on the family, and answers with the adapter.
  void expect_trains(const nlohmann::json& config, const std::string& module) {
    SCOPED_TRACE(config["model_type"].get<std::string>());
    fs::remove_all(folder_ / "model");
    write_model(folder_ / "model", config);
    const Outcome lora = cairn("train recipe.yaml max_steps=3");
    ASSERT_EQ(lora.exit_code, 0) << lora.output;
    const nlohmann::json ledger = read("out/ledger.json");
    EXPECT_EQ(ledger["predicted"]["account_peaks"], ledger["measured"]["account_peaks"]);
    const SafetensorsFile adapter((folder_ / "out/adapter_model.safetensors").string());
    EXPECT_NE(adapter.find("base_model.model.model.layers.1." + module + ".lora_A.weight"),
              nullptr);
    const Outcome answer =
        cairn("generate --model model --adapter out --prompt hello --max-new-tokens 4");
    EXPECT_EQ(answer.exit_code, 0) << answer.output;
    const Outcome full =
        cairn("train recipe.yaml max_steps=2 finetuning_type=full output_dir=whole");
    ASSERT_EQ(full.exit_code, 0) << full.output;
    // What was written is a model of the same family.
    const Outcome again = cairn("generate --model whole --prompt hello --max-new-tokens 4");
    EXPECT_EQ(again.exit_code, 0) << again.output;
  }
};

TEST_F(FamilyProgram, plans_by_name_without_a_file) {
  for (const char* name :
       {"Qwen/Qwen2.5-7B", "google/gemma-2-9b", "mistralai/Mistral-7B-v0.3",
        "microsoft/Phi-4-mini-instruct", "Qwen/Qwen3-8B", "google/gemma-3-1b-it"}) {
    SCOPED_TRACE(name);
    const nlohmann::json plan = json_of(std::string("plan --model ") + name +
                                        " --method lora --seq 256 --batch 1 --budget 80GiB");
    EXPECT_EQ(plan["fits"], true);
    // Frozen weights in bf16, and a few pairs in f32.
    const int64_t base = 2 * find_known_model(name)->num_parameters();
    const auto weights = plan["accounts"]["weights"].get<int64_t>();
    EXPECT_GT(weights, base);
    EXPECT_LT(weights, base + base / 20);
  }
}

TEST_F(FamilyProgram, trains_what_it_planned) {
  expect_trains({{"model_type", "mistral"}, {"sliding_window", 16}}, "self_attn.q_proj");
  expect_trains({{"model_type", "qwen2"}}, "self_attn.v_proj");
  expect_trains({{"model_type", "qwen3"}, {"head_dim", 16}}, "mlp.gate_proj");
  expect_trains({{"model_type", "gemma2"}, {"head_dim", 16}, {"sliding_window", 16}},
                "mlp.down_proj");
  expect_trains({{"model_type", "gemma3_text"}, {"head_dim", 16}, {"sliding_window", 16}},
                "self_attn.o_proj");
  expect_trains({{"model_type", "phi3"}}, "self_attn.qkv_proj");
}

TEST_F(FamilyProgram, a_fused_family_names_its_own_targets) {
  write_model(folder_ / "model", {{"model_type", "phi3"}});
  expect_refused("train recipe.yaml lora_target=q_proj,v_proj", 2, "qkv_proj, o_proj");
}

TEST_F(FamilyProgram, a_type_that_is_not_trained_is_refused) {
  nlohmann::json config = {{"model_type", "mixtral"}};
  fs::remove_all(folder_ / "model");
  EXPECT_THROW(write_model(folder_ / "model", config), UserError);
  expect_refused("plan --model model/config.json --method lora --seq 64 --batch 1", 2, "'mixtral'");
}

TEST_F(FamilyProgram, rope_scaling_stretches_as_far_as_the_samples_may_go) {
  const std::string plan = "plan recipe.yaml rope_scaling=yarn --json 2>/dev/null cutoff_len=";
  write_model(folder_ / "model", {{"max_position_embeddings", 64}});
  EXPECT_EQ(cairn(plan + "256").exit_code, 0);
  const Outcome within = cairn("train recipe.yaml rope_scaling=yarn cutoff_len=64 max_steps=1");
  EXPECT_EQ(within.exit_code, 0) << within.output;
  EXPECT_NE(within.output.find("rope_scaling: without effect"), std::string::npos) << within.output;
}

}  // namespace
}  // namespace cairn::test
