// Paths that no file system takes or that lead nowhere, and text that is not UTF-8: each is one
// sentence of the right error, never an exception of the standard library's.
#include <gtest/gtest.h>

#include "file_builders.h"
#include "files/atomic_file.h"
#include "files/folder_entries.h"
#include "files/hf_folder.h"
#include "files/model_files.h"

namespace cairn::test {
namespace {

constexpr const char* kConfig = R"({"model_type":"llama","hidden_size":4})";

void expect_refused(const std::string& path, std::string_view words) {
  expect_contains(message_of<UserError>([&] { open_model(path); }, path), words);
  expect_contains(message_of<UserError>([&] { read_config(path); }, path), words);
  expect_contains(message_of<UserError>([&] { read_tokenizer(path); }, path), words);
}

TEST(OddPaths, a_model_that_no_file_system_takes_is_the_users_mistake) {
  const TemporaryFolder folder;
  expect_refused(folder.file(std::string(300, 'x')), "File name too long");
  std::filesystem::create_symlink("itself", folder.file("itself"));
  expect_refused(folder.file("itself"), "symbolic links");
  // Long, and made of the letters of the hub's names.
  expect_refused("owner/" + std::string(2'000'000, 'a'), "too long");
  expect_refused("owner/name", "downloaded first");
  expect_refused("-owner/name", "does not exist");
  expect_refused("owner/name/more", "does not exist");
}

TEST(OddPaths, a_file_of_a_model_that_leads_to_itself_is_told) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", safetensors_with({"model.norm.weight"}));
  for (const char* name : {"config.json", "chat_template.jinja", "tokenizer.json"}) {
    folder.write("config.json", kConfig);
    std::filesystem::remove(folder.file(name));
    std::filesystem::create_symlink(name, folder.file(name));
    message_of<UserError>([&] { open_model(folder.path()); }, folder.file(name));
    std::filesystem::remove(folder.file(name));
  }
}

TEST(OddPaths, an_index_whose_shard_no_file_system_takes_is_damage) {
  const TemporaryFolder folder;
  folder.write("config.json", kConfig);
  const std::string index =
      folder.write("model.safetensors.index.json",
                   R"({"weight_map":{"a":")" + std::string(300, 'x') + R"(.safetensors"}})");
  expect_contains(message_of<DamagedFile>([&] { open_model(folder.path()); }, index), "plain name");
}

TEST(OddPaths, a_target_that_no_file_system_takes_is_the_users_mistake) {
  const TemporaryFolder folder;
  const std::string path = folder.file(std::string(300, 'x'));
  expect_contains(message_of<UserError>([&] { AtomicFile file(path); }, path), "too long");
  message_of<UserError>([&] { folder_entries(path); }, path);
  message_of<UserError>([&] { folder_entries(folder.file("gone")); }, "gone");
}

TEST(OddPaths, weights_given_as_a_config_are_told_what_to_give) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("model.safetensors", safetensors_with({"model.norm.weight"}));
  expect_contains(message_of<UserError>([&] { read_config(path); }, path), "the folder with");
  // What is named config.json was meant as one.
  const std::string config = folder.write("config.json", safetensors_with({"a"}));
  message_of<DamagedFile>([&] { read_config(config); }, config);
}

TEST(OddText, a_chat_template_is_utf8_of_a_sensible_size) {
  const TemporaryFolder folder;
  folder.write("config.json", kConfig);
  folder.write("model.safetensors", safetensors_with({"model.norm.weight"}));
  const std::string path = folder.write("chat_template.jinja", "{{ \xff }}");
  expect_contains(message_of<DamagedFile>([&] { open_model(folder.path()); }, path), "not UTF-8");
  folder.write("chat_template.jinja", "");
  std::filesystem::resize_file(path, uintmax_t{1} << 40);  // sparse
  expect_contains(message_of<DamagedFile>([&] { open_model(folder.path()); }, path), "4.0 MiB");
}

TEST(OddText, text_of_a_gguf_is_utf8) {
  const TemporaryFolder folder;
  const auto damage = [&](const GgufBuilder& gguf) {
    const std::string path = folder.write("model.gguf", gguf.build());
    return message_of<DamagedFile>([&] { open_model(path); }, path);
  };
  const auto vocabulary = [] {
    GgufBuilder gguf = tiny_llama();
    gguf.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
    return gguf.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "c"});
  };
  expect_contains(damage(vocabulary()
                             .texts("tokenizer.ggml.merges", {"a b"})
                             .text("tokenizer.chat_template", "{{ \xff }}")),
                  "tokenizer.chat_template");
  expect_contains(damage(vocabulary().texts("tokenizer.ggml.merges", {"a \xff"})), "not UTF-8");
  expect_contains(damage(tiny_llama().tensor("blk.0.\xff", {4}, 0, floats(4))), "not UTF-8");
}

TEST(OddText, a_special_token_is_text_or_null) {
  const TemporaryFolder folder;
  for (const char* file : {"tokenizer_config.json", "special_tokens_map.json"}) {
    for (const char* value : {"2", R"({"content":5})", "{}", "[]", "true"}) {
      const std::string path = folder.write(file, std::string(R"({"eos_token":)") + value + "}");
      expect_contains(message_of<DamagedFile>([&] { read_tokenizer(folder.path()); }, path),
                      "eos_token");
    }
    folder.write(file, R"({"eos_token":null,"bos_token":{"content":"<s>"}})");
    EXPECT_FALSE(read_tokenizer(folder.path()).tokenizer_config.contains("eos_token"));
    EXPECT_EQ(read_tokenizer(folder.path()).tokenizer_config["bos_token"], "<s>");
  }
}

}  // namespace
}  // namespace cairn::test
