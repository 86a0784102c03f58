// Opening models from folders and files, and writing them back as a Hugging Face folder.
#include "files/model_files.h"

#include <gtest/gtest.h>

#include "file_builders.h"
#include "files/hf_folder.h"
#include "numeric/bfloat16.h"

namespace cairn::test {
namespace {

constexpr const char* kConfig = R"({"model_type":"llama","hidden_size":4})";

TEST(ModelFiles, a_folder_is_read_with_all_its_files) {
  const TemporaryFolder folder;
  folder.write("config.json", "\xef\xbb\xbf" + std::string(kConfig));
  folder.write("model.safetensors", safetensors_with({"model.norm.weight"}));
  folder.write("tokenizer.json", R"({"model":{"type":"BPE"}})");
  folder.write("tokenizer_config.json",
               R"({"bos_token":{"content":"<s>","special":true},"pad_token":null})");
  folder.write("special_tokens_map.json", R"({"bos_token":"<x>","eos_token":{"content":"</s>"}})");
  folder.write("chat_template.jinja", "{{ x }}");
  folder.write("generation_config.json", R"({"eos_token_id":2})");
  const ModelFiles model = open_model(folder.path());
  EXPECT_EQ(model.config["hidden_size"], 4);
  EXPECT_EQ(model.tokenizer["model"]["type"], "BPE");
  EXPECT_EQ(model.tokenizer_config["bos_token"], "<s>");
  EXPECT_EQ(model.tokenizer_config["eos_token"], "</s>");
  EXPECT_FALSE(model.tokenizer_config.contains("pad_token"));
  EXPECT_EQ(model.tokenizer_config["chat_template"], "{{ x }}");
  EXPECT_EQ(model.generation_config["eos_token_id"], 2);
  EXPECT_EQ(model.weights->tensors().size(), 1u);
}

TEST(ModelFiles, what_a_folder_lacks_is_null) {
  const TemporaryFolder folder;
  folder.write("config.json", kConfig);
  folder.write("model.safetensors", safetensors_with({"model.norm.weight"}));
  const ModelFiles model = open_model(folder.path());
  EXPECT_TRUE(model.tokenizer.is_null());
  EXPECT_TRUE(model.tokenizer_config.is_null());
  EXPECT_TRUE(model.generation_config.is_null());
}

TEST(ModelFiles, a_config_is_read_without_weights) {
  const TemporaryFolder folder;
  const std::string path = folder.write("config.json", kConfig);
  EXPECT_EQ(read_config(folder.path())["hidden_size"], 4);
  EXPECT_EQ(read_config(path)["hidden_size"], 4);
}

TEST(ModelFiles, a_folder_with_one_gguf_is_that_model) {
  const TemporaryFolder folder;
  folder.write("model.gguf", tiny_llama().build());
  EXPECT_EQ(open_model(folder.path()).config["hidden_size"], 16);
  folder.write("other.gguf", tiny_llama().build());
  expect_contains(message_of<UserError>([&] { open_model(folder.path()); }, folder.path()),
                  "2 .gguf files");
}

TEST(ModelFiles, a_path_that_is_no_model_is_told_what_was_expected) {
  const TemporaryFolder folder;
  expect_contains(message_of<UserError>([] { open_model("Qwen/Qwen3-4B"); }, "Qwen/Qwen3-4B"),
                  "downloaded first");
  expect_contains(message_of<UserError>([] { read_config("Qwen/Qwen3-4B"); }, "Qwen/Qwen3-4B"),
                  "downloaded first");
  expect_contains(message_of<UserError>([] { open_model("/no/such/model"); }, "/no/such/model"),
                  "does not exist");
  expect_contains(message_of<UserError>([] { open_model("model.gguf"); }, "model.gguf"),
                  "does not exist");
  EXPECT_THROW(open_model(""), UserError);
  expect_contains(message_of<UserError>([&] { open_model(folder.path()); }, folder.path()),
                  "config.json");
  const std::string config = folder.write("config.json", kConfig);
  expect_contains(message_of<UserError>([&] { open_model(config); }, config), "give the folder");
  expect_contains(message_of<UserError>([&] { open_model(folder.path()); }, folder.path()),
                  "no weights");
}

TEST(ModelFiles, json_files_that_are_no_json_are_damage) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", safetensors_with({"model.norm.weight"}));
  const std::string path = folder.file("config.json");
  for (const std::string content : {"", "{", "[1]", "version https://git-lfs.github.com/spec/v1\n",
                                    "<!doctype html>", "{\"a\":\"\xff\"}", "{\"a\":1e999}"}) {
    folder.write("config.json", content);
    message_of<DamagedFile>([&] { open_model(folder.path()); }, path);
  }
  folder.write("config.json", "{\n  \"a\": 1,\n  oops\n}");
  expect_contains(message_of<DamagedFile>([&] { open_model(folder.path()); }, path), "line 3");
  folder.write("config.json",
               "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  expect_contains(message_of<DamagedFile>([&] { open_model(folder.path()); }, path), "deep");
}

TEST(ModelFiles, weights_quantized_by_others_are_refused_by_method) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"quantization_config":{"quant_method":"gptq"}})");
  folder.write("model.safetensors", safetensors_with({"model.norm.weight"}));
  expect_contains(message_of<UserError>([&] { open_model(folder.path()); }, folder.path()), "gptq");
}

// All the files of a folder and what is in them.
std::string everything(const TemporaryFolder& folder) {
  std::string all;
  for (const std::string& name : folder.names()) all += name + read_all(folder.file(name));
  return all;
}

TEST(HfFolder, an_exported_gguf_opens_as_the_same_model) {
  const TemporaryFolder source, target;
  const ModelFiles gguf = open_model(source.write("model.gguf", tiny_llama().build()));
  std::vector<std::byte> scratch(4 * kLeastReadScratchBytes);
  export_hf_folder(gguf, target.path(), scratch);
  EXPECT_EQ(target.names(), (std::vector<std::string>{"config.json", "generation_config.json",
                                                      "model.safetensors"}));
  const ModelFiles model = open_model(target.path());
  EXPECT_EQ(model.config, gguf.config);
  for (const TensorInfo& info : gguf.weights->tensors()) {
    EXPECT_EQ(model.weights->require(info.name).type, FileType::bf16);
    std::vector<float> wanted = read_floats(*gguf.weights, info.name);
    for (float& value : wanted) value = to_float(to_bf16(value));
    EXPECT_EQ(read_floats(*model.weights, info.name), wanted) << info.name;
  }
  // Again, over itself.
  const std::string before = everything(target);
  export_hf_folder(model, target.path(), scratch);
  EXPECT_EQ(everything(target), before);
}

TEST(HfFolder, large_models_become_shards_with_an_index) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", "stale");
  folder.write("model-00001-of-00009.safetensors", "stale");
  const std::vector<float> values(8, 1.f);
  HfWeightsWriter writer(
      folder.path(),
      {{"a", FileType::f32, {8}}, {"b", FileType::f32, {8}}, {"c", FileType::f32, {8}}}, 64);
  for (const char* name : {"c", "a", "b"}) {
    EXPECT_EQ(read_all(folder.file("model.safetensors")), "stale")
        << "replaced before all was written";
    EXPECT_FALSE(std::filesystem::exists(folder.file("model-00001-of-00002.safetensors")));
    writer.append(name, std::as_bytes(std::span(values)));
  }
  writer.finish();
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"model-00001-of-00002.safetensors",
                                                      "model-00002-of-00002.safetensors",
                                                      "model.safetensors.index.json"}));
  folder.write("config.json", kConfig);
  const ModelFiles model = open_model(folder.path());
  EXPECT_EQ(read_floats(*model.weights, "c"), values);
  EXPECT_EQ(nlohmann::json::parse(
                read_all(folder.file("model.safetensors.index.json")))["metadata"]["total_size"],
            96);
}

TEST(HfFolder, a_failed_export_leaves_no_weights) {
  const TemporaryFolder source, target;
  const std::string path = source.write("model.gguf", tiny_llama().build());
  const ModelFiles gguf = open_model(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
  std::vector<std::byte> scratch(4 * kLeastReadScratchBytes);
  message_of<DamagedFile>([&] { export_hf_folder(gguf, target.path(), scratch); }, path);
  EXPECT_TRUE(target.names().empty());
}

}  // namespace
}  // namespace cairn::test
