// cairn quantize, and training on what it wrote.
#include "cli/small_program.h"
#include "files/model_files.h"
#include "files/quantised_modules.h"

namespace cairn::test {
namespace {

class Quantize : public Program {
 protected:
  std::vector<double> losses(const std::string& log) const {
    std::ifstream in(folder_ / log);
    std::vector<double> values;
    for (std::string line; std::getline(in, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record.contains("loss")) values.push_back(record["loss"]);
    }
    return values;
  }
};

TEST_F(Quantize, training_on_the_folder_is_training_quantised_on_the_way) {
  ASSERT_EQ(cairn("quantize --model model --output nf4").exit_code, 0);
  ASSERT_EQ(cairn("train recipe.yaml quantization_bit=4 output_dir=way").exit_code, 0);
  const Outcome outcome = cairn("train recipe.yaml model_name_or_path=nf4 output_dir=folder");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_GT(losses("way/trainer_log.jsonl").size(), 2u);
  EXPECT_EQ(losses("way/trainer_log.jsonl"), losses("folder/trainer_log.jsonl"));
  const auto weights = [&](const char* ledger) {
    return read(ledger)["measured"]["accounts"]["weights"].get<int64_t>();
  };
  EXPECT_EQ(weights("way/ledger.json"), weights("folder/ledger.json"));
  EXPECT_EQ(read("folder/ledger.json")["predicted"], read("folder/ledger.json")["measured"]);
}

TEST_F(Quantize, norms_are_said_to_be_in_bf16_only_where_they_are) {
  for (const bool bf16 : {true, false}) {
    const Outcome outcome = cairn(fmt::format("plan recipe.yaml quantization_bit=4 bf16={}", bf16));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.output.find("norms in bf16") != std::string::npos, bf16) << outcome.output;
  }
}

// The same list in a recipe and in a folder, which names what it left out.
TEST_F(Quantize, modules_that_are_to_stay_as_they_are_do) {
  ASSERT_EQ(cairn("quantize --model model --output nf4 --skip down_proj,model.layers.0").exit_code,
            0);
  const ModelFiles files = open_model((folder_ / "nf4").string());
  EXPECT_EQ(find_quantised_modules(*files.weights).size(), 6u);
  EXPECT_EQ(files.weights->require("model.layers.1.mlp.down_proj.weight").type, FileType::bf16);
  EXPECT_EQ(files.config["quantization_config"]["llm_int8_skip_modules"],
            nlohmann::json({"down_proj", "model.layers.0"}));
  ASSERT_EQ(cairn("train recipe.yaml quantization_bit=4 output_dir=way "
                  "llm_int8_skip_modules=[down_proj,model.layers.0,lm_head]")
                .exit_code,
            0);
  ASSERT_EQ(cairn("train recipe.yaml model_name_or_path=nf4 output_dir=folder").exit_code, 0);
  EXPECT_GT(losses("way/trainer_log.jsonl").size(), 2u);
  EXPECT_EQ(losses("way/trainer_log.jsonl"), losses("folder/trainer_log.jsonl"));
  expect_refused("train recipe.yaml quantization_bit=4 llm_int8_skip_modules=[downproj]", 2,
                 "'downproj' is no module of this model");
  expect_refused("quantize --model model --output other --skip downproj", 2,
                 "'downproj' is no module of this model");
  expect_refused(
      "train recipe.yaml model_name_or_path=nf4 quantization_bit=4 "
      "llm_int8_skip_modules=[down_proj,v_proj]",
      2, "its config.json does not list 'v_proj' as left plain");
}

// The keys that Hugging Face's trainer has for a run short of memory.
TEST_F(Quantize, a_json_recipe_of_hugging_face_keys_runs) {
  write_file(folder_ / "hf.json",
             R"({"model_name_or_path": "model", "stage": "sft", "do_train": true,
                 "dataset": "rows.json", "template": "chatml", "output_dir": "hf",
                 "gradient_checkpointing": true, "optim": "paged_adamw_8bit",
                 "per_device_train_batch_size": 2, "gradient_accumulation_steps": 16,
                 "bf16": true, "attn_implementation": "flash_attention_2", "max_steps": 2})");
  const Outcome outcome = cairn("train hf.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(read("hf/ledger.json")["predicted"], read("hf/ledger.json")["measured"]);
}

TEST_F(Quantize, every_product_is_quantised_and_nothing_else) {
  ASSERT_EQ(cairn("quantize --model model --output nf4").exit_code, 0);
  ASSERT_EQ(cairn("quantize --model model --output f32 --no-double-quantization").exit_code, 0);
  for (const bool nested : {true, false}) {
    const ModelFiles files = open_model((folder_ / (nested ? "nf4" : "f32")).string());
    const auto modules = find_quantised_modules(*files.weights);
    EXPECT_EQ(modules.size(), 2u * 7);
    for (const QuantisedModule& module : modules) EXPECT_EQ(module.nested, nested);
    EXPECT_EQ(files.weights->require("model.embed_tokens.weight").type, FileType::bf16);
    EXPECT_EQ(files.config["quantization_config"]["bnb_4bit_use_double_quant"], nested);
  }
}

TEST_F(Quantize, a_configuration_with_null_for_8_bits_is_one_of_4_bits) {
  ASSERT_EQ(cairn("quantize --model model --output nf4").exit_code, 0);
  nlohmann::json config = read("nf4/config.json");
  config["quantization_config"]["load_in_8bit"] = nullptr;
  write_file(folder_ / "nf4/config.json", config.dump());
  const Outcome outcome = cairn("train recipe.yaml model_name_or_path=nf4 max_steps=1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  config["quantization_config"]["load_in_8bit"] = true;
  write_file(folder_ / "nf4/config.json", config.dump());
  expect_refused("train recipe.yaml model_name_or_path=nf4", 2, "quantized by bitsandbytes");
}

TEST_F(Quantize, wrong_input_exits_with_a_sentence) {
  ASSERT_EQ(cairn("quantize --model model --output nf4").exit_code, 0);
  expect_refused("quantize --model nf4 --output again", 2, "quantised already");
  expect_refused("export --model nf4 --output hf", 2, "quantised to 4 bits");
  expect_refused("quantize --model model --output model", 2, "is the model itself");
  expect_refused("quantize --model model --output nf4", 2, "--overwrite");
  expect_refused("train recipe.yaml model_name_or_path=nf4 finetuning_type=full", 2, "frozen");
  expect_refused("train recipe.yaml quantization_bit=4 finetuning_type=full", 2, "frozen");
}

// A part that is cut, missing or of another weight is found before the first step.
TEST_F(Quantize, a_damaged_part_exits_4_and_is_named) {
  ASSERT_EQ(cairn("quantize --model model --output nf4").exit_code, 0);
  const std::string path = (folder_ / "nf4/model.safetensors").string();
  std::string bytes;
  {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto damage = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    const size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    write_file(path, changed);
  };
  damage(R"("blocksize":64)", R"("blocksize":63)");
  expect_refused("train recipe.yaml model_name_or_path=nf4", 4, "blocksize");
  damage(R"("quant_type":"nf4")", R"("quant_type": 444 )");
  expect_refused("train recipe.yaml model_name_or_path=nf4", 4, "quant_type");
  damage(R"("blocksize":64)", R"("blocksize":32)");
  expect_refused("train recipe.yaml model_name_or_path=nf4", 4, "absmax");
  damage(R"("shape":[32,32])", R"("shape":[64,32])");
  expect_refused("train recipe.yaml model_name_or_path=nf4", 4, "bytes");
  damage(R"("nested_offset")", R"("nested_offsat")");
  expect_refused("train recipe.yaml model_name_or_path=nf4", 4, "nested_offset");
  damage("q_proj.weight.absmax", "q_proj.weight.absmix");
  expect_refused("train recipe.yaml model_name_or_path=nf4", 4, "absmax");
}

}  // namespace
}  // namespace cairn::test
