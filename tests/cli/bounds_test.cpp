// Numbers and names out of any range, given to the program: each is answered at once with exit code
// 2 and a sentence that says what would do.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "files/safetensors.h"
#include "model/adapter.h"
#include "model/model.h"
#include "support/program.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

nlohmann::json small_config(int64_t layers, int64_t width) {
  return {{"model_type", "llama"},         {"hidden_size", width},       {"intermediate_size", 24},
          {"num_hidden_layers", layers},   {"num_attention_heads", 2},   {"vocab_size", 512},
          {"max_position_embeddings", 64}, {"tie_word_embeddings", true}};
}

// The base's tensors or the adapter's, every value the same.
void write_tensors(const fs::path& file, const Model& model, bool adapter) {
  std::vector<TensorSpec> specs;
  for (const Parameter& parameter : model.parameters())
    if (parameter.adapter == adapter)
      specs.push_back({parameter.name, FileType::f32, parameter.shape});
  SafetensorsWriter writer(file.string(), specs, {{"format", "pt"}});
  for (const TensorSpec& spec : specs) {
    const std::vector<float> values(static_cast<size_t>(spec.shape.elements()), 0.01f);
    writer.append(spec.name, std::as_bytes(std::span(values)));
  }
  writer.finish();
}

class Bounds : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("cairn_bounds_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    write_model("model", 3, 16);
    write_text("rows.json", R"([{"instruction": "say aa", "output": "hello"}])");
    write_text("recipe.yaml",
               "model_name_or_path: model\nstage: sft\ndo_train: true\nfinetuning_type: lora\n"
               "dataset: rows.json\ntemplate: chatml\ncutoff_len: 64\noutput_dir: out\n"
               "num_train_epochs: 1\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write_text(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void write_model(const std::string& name, int64_t layers, int64_t width) const {
    fs::create_directories(folder_ / name);
    write_text(name + "/config.json", small_config(layers, width).dump());
    write_text(name + "/tokenizer.json", small_tokenizer_json().dump());
    write_text(name + "/tokenizer_config.json", R"({"eos_token": "<|im_end|>"})");
    write_tensors(folder_ / name / "model.safetensors", shaped(layers, width, {}), false);
  }
  void write_adapter(int64_t layers, int64_t width,
                     const std::function<void(nlohmann::json&)>& change = {}) const {
    fs::create_directories(folder_ / "adapter");
    LoraSpec lora;
    lora.rank = 2;
    lora.alpha = 4;
    nlohmann::json config = make_adapter_config(lora, "model");
    if (change) change(config);
    write_text("adapter/adapter_config.json", config.dump());
    write_tensors(folder_ / "adapter/adapter_model.safetensors", shaped(layers, width, lora), true);
  }
  static Model shaped(int64_t layers, int64_t width, std::optional<LoraSpec> lora) {
    ModelSpec spec;
    spec.config = parse_model_config(small_config(layers, width));
    spec.lora = std::move(lora);
    return Model(spec);
  }

  Outcome cairn(const std::string& arguments) const {
    return run_command(folder_.string(), std::string(CAIRN_PROGRAM) + " " + arguments);
  }
  void expect(int exit_code, const std::string& arguments, const std::string& words) const {
    const Outcome outcome = cairn(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(words), std::string::npos) << arguments << "\n" << outcome.output;
  }

  fs::path folder_;
};

const std::string kGenerate = "generate --model model --prompt 'say aa' ";

TEST_F(Bounds, numbers_beyond_any_run_exit_2_with_their_bound) {
  const std::string huge = "9223372036854775807";
  for (const char* command : {"plan", "train"}) {
    const std::string recipe = std::string(command) + " recipe.yaml ";
    expect(2, recipe + "lora_rank=4000000000000000000", "at most 65536");
    expect(2, recipe + "gradient_accumulation_steps=" + huge, "at most 1000000");
    expect(2, recipe + "max_steps=" + huge, "at most 1000000000");
    expect(2, recipe + "threads=100000000000", "at most 4096");
    expect(2, recipe + "cutoff_len=" + huge, "at most 67108864");
  }
  expect(2, kGenerate + "--max-new-tokens " + huge, "at most 1048576");
  expect(2, kGenerate + "--max-new-tokens 1000000000", "at most 1048576");
  expect(2, kGenerate + "--threads 1000000", "a number up to 4096");
  expect(2, kGenerate + "--temperature nan", "--temperature");
  expect(2, "bench step --model model/config.json --shape 99999999999x99999999", "67108864 tokens");
}

TEST_F(Bounds, the_largest_counts_are_planned) {
  expect(0, "plan recipe.yaml gradient_accumulation_steps=1000000", "peak");
  expect(0, "plan --model model/config.json gradient_accumulation_steps=1000000", "peak");
  expect(0, "plan recipe.yaml max_steps=1000000000", "peak");
}

TEST_F(Bounds, an_adapter_of_another_model_exits_2) {
  const std::string words = "belongs to another model";
  for (const auto& [layers, width] : {std::pair{2, 16}, {5, 16}, {3, 32}}) {
    write_adapter(layers, width);
    expect(2, kGenerate + "--adapter adapter", words);
    expect(2, "train recipe.yaml adapter_name_or_path=adapter", words);
  }
  write_adapter(3, 16, [](nlohmann::json& config) { config["target_modules"] = {"q_proj"}; });
  expect(2, kGenerate + "--adapter adapter", words);
  write_adapter(3, 16);
  expect(0, kGenerate + "--adapter adapter --max-new-tokens 2", "");
}

TEST_F(Bounds, an_adapter_config_that_cannot_be_computed_is_named) {
  write_adapter(3, 16, [](nlohmann::json& config) { config["fan_in_fan_out"] = true; });
  expect(2, kGenerate + "--adapter adapter", "'fan_in_fan_out' is true");
  for (const nlohmann::json& alpha : {nlohmann::json(), nlohmann::json("x"), nlohmann::json(-1)}) {
    write_adapter(3, 16, [&](nlohmann::json& config) { config["lora_alpha"] = alpha; });
    expect(4, kGenerate + "--adapter adapter", "'lora_alpha' must be a number above 0");
  }
  write_adapter(3, 16, [](nlohmann::json& config) { config.erase("lora_alpha"); });
  expect(4, kGenerate + "--adapter adapter", "'lora_alpha' must be a number above 0");
}

TEST_F(Bounds, drawing_from_a_padded_vocabulary_gives_tokens_of_the_tokenizer) {
  for (const char* seed : {"1", "2", "3"})
    expect(0, kGenerate + "--temperature 3 --max-new-tokens 40 --seed " + seed, "");
}

TEST_F(Bounds, positions_past_those_of_the_model_are_remarked) {
  const std::string words = "past max_position_embeddings, 64";
  expect(0, kGenerate + "--max-new-tokens 80", words);
  EXPECT_EQ(cairn(kGenerate + "--max-new-tokens 2").output.find(words), std::string::npos);
  write_text("rows.json",
             nlohmann::json({{{"instruction", std::string(90, 'c')}, {"output", "hello"}}}).dump());
  expect(0, "train recipe.yaml cutoff_len=100", words);
}

TEST_F(Bounds, plan_refuses_a_device_that_train_refuses) {
  for (const char* command : {"plan", "train"})
    expect(2, std::string(command) + " recipe.yaml device=cuda:99", "'cuda:99' is not built");
}

TEST_F(Bounds, an_empty_override_exits_2_and_names_its_key) {
  expect(2, "train recipe.yaml output_dir=", "output_dir: the override is empty");
  expect(2, "plan recipe.yaml learning_rate=", "learning_rate: the override is empty");
  expect(2, "plan recipe.yaml --budget ''", "memory_budget: wanted an amount of memory");
  expect(2, "ladder --model model/config.json --budget ''",
         "memory_budget: wanted an amount of memory");
}

// Of two things that are asked for, neither is dropped in silence.
TEST_F(Bounds, options_that_do_not_go_together_exit_2) {
  expect(2, "config --keys markdown --json", "leave the recipe and --json out");
  expect(2, "data recipe.yaml --model model --text recipe.yaml", "leave the recipe and --row out");
  expect(2, "bench gemm bf16=true", "bench gemm takes no keys of a recipe");
  expect(0, "generate --model model --prompt aa --max-new-tokens 1 --top-k 3",
         "no effect at --temperature 0");
}

// A path is no YAML, whatever it holds; a flag wins over all that the file says of its subject.
TEST_F(Bounds, flags_are_taken_as_they_are) {
  fs::copy(folder_ / "model", folder_ / "it's a: model #2", fs::copy_options::recursive);
  expect(0, "plan --model \"it's a: model #2\" --seq 64", "peak");
  expect(2, "plan --model \"it's a: model #3\" --seq 64", "it's a: model #3");
  write_text("qlora.yaml", "model_name_or_path: model\nquantization_bit: 4\nbf16: true\n");
  const auto weights = [&](const char* flags) {
    const Outcome outcome = cairn(std::string("plan qlora.yaml --json ") + flags + " 2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return nlohmann::json::parse(outcome.output)["accounts"]["weights"].get<int64_t>();
  };
  EXPECT_GT(weights("--method lora"), weights("--method qlora"));
}

TEST_F(Bounds, names_that_no_file_system_takes_exit_2) {
  fs::create_symlink("loop", folder_ / "loop");
  for (const std::string& name : {std::string("loop"), std::string(300, 'x')}) {
    expect(2, "plan --model " + name + " --seq 64", "is neither a model folder");
    expect(2, "plan recipe.yaml model_name_or_path=" + name, name.substr(0, 100));
    expect(2, "generate --prompt aa --model " + name, name.substr(0, 100));
  }
}

TEST_F(Bounds, a_word_that_is_no_subcommand_is_named_with_the_nearest) {
  expect(2, "trian recipe.yaml", "'trian' is not a subcommand; the nearest is 'train'");
  expect(2, "plot", "the nearest is 'plan'");
  expect(2, "doctor", "'doctor' is not in this version of Cairn; cairn plan RECIPE names");
  expect(2, "", "subcommand is required");
  expect(0, "--help", "generate");
}

TEST_F(Bounds, one_is_counted_in_the_singular) {
  write_text("rows.json",
             nlohmann::json({{{"instruction", std::string(90, 'c')}, {"output", "hello"}},
                             {{"instruction", "say aa"}, {"output", "hello"}},
                             {{"instruction", "say aa"}}})
                 .dump());
  const Outcome outcome = cairn("plan recipe.yaml train_on_prompt=true");
  EXPECT_NE(outcome.output.find("1 example was cut at"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find(": 1 row skipped: "), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace cairn::test
