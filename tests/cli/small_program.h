// A model of a few thousand parameters, rows to train it on and a recipe, in a folder of their own,
// for the tests that run the program from end to end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "files/safetensors.h"
#include "model/model.h"
#include "support/program.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {

namespace fs = std::filesystem;

inline constexpr int64_t kVocab = 272;

inline void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A Hugging Face folder with random weights and the small tokenizer; `more` are further keys of its
// config.json.
inline void write_model(const fs::path& folder, const nlohmann::json& more = {}) {
  fs::create_directories(folder);
  nlohmann::json config = {{"model_type", "llama"},
                           {"architectures", {"LlamaForCausalLM"}},
                           {"hidden_size", 32},
                           {"intermediate_size", 48},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"vocab_size", kVocab},
                           {"rms_norm_eps", 1e-5},
                           {"rope_theta", 10000.0},
                           {"tie_word_embeddings", true},
                           {"torch_dtype", "float32"},
                           {"use_cache", true}};
  if (!more.is_null()) config.update(more);
  write_file(folder / "config.json", config.dump());
  write_file(folder / "tokenizer.json", small_tokenizer_json().dump());
  write_file(folder / "tokenizer_config.json", R"({"eos_token": "<|im_end|>"})");

  ModelSpec spec;
  spec.config = parse_model_config(config);
  const Model model(spec);
  std::vector<TensorSpec> specs;
  for (const Parameter& parameter : model.parameters())
    specs.push_back({parameter.name, FileType::f32, parameter.shape});
  SafetensorsWriter writer((folder / "model.safetensors").string(), specs, {{"format", "pt"}});
  for (const Parameter& parameter : model.parameters()) {
    const Random random(7, std::hash<std::string>()(parameter.name));
    std::vector<float> values(static_cast<size_t>(parameter.elements()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = parameter.shape.rank() == 1 ? 1.0f : 0.1f * random.normal(i);
    writer.append(parameter.name, std::as_bytes(std::span(values)));
  }
  writer.finish();
}

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("cairn_cli_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    write_model(folder_ / "model");
    nlohmann::json rows = nlohmann::json::array();
    for (int i = 0; i < 24; ++i)
      rows.push_back({{"instruction", "say " + std::string(static_cast<size_t>(1 + i % 9), 'a')},
                      {"input", i == 5 ? std::string(120, 'b') : ""},
                      {"output", "hello hello"}});
    write_file(folder_ / "rows.json", rows.dump());
    write_file(folder_ / "recipe.yaml",
               "model_name_or_path: model\nstage: sft\ndo_train: true\nfinetuning_type: lora\n"
               "dataset: rows.json\ntemplate: chatml\ncutoff_len: 256\noutput_dir: out\n"
               "logging_steps: 2\nplot_loss: true\noverwrite_output_dir: true\n"
               "per_device_train_batch_size: 4\nlearning_rate: 1.0e-2\nnum_train_epochs: 2\n"
               "bf16: true\nval_size: 4\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome cairn(const std::string& arguments) const {
    return run_command(folder_.string(),
                       "CAIRN_CACHE=cache " + std::string(CAIRN_PROGRAM) + " " + arguments);
  }
  bool exists(const std::string& name) const { return fs::exists(folder_ / name); }
  nlohmann::json read(const std::string& name) const {
    std::ifstream in(folder_ / name);
    return nlohmann::json::parse(in);
  }
  void expect_refused(const std::string& arguments, int code, const std::string& words) const {
    const Outcome outcome = cairn(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.output;
    EXPECT_NE(outcome.output.find(words), std::string::npos) << outcome.output;
  }

  fs::path folder_;
};

}  // namespace cairn::test
