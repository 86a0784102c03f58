// Index and shards, held against each other both ways; and folders that hold something else.
#include "files/sharded.h"

#include <gtest/gtest.h>

#include "file_builders.h"

namespace cairn::test {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";

// A folder with a and b in the first shard and c in the second.
void write_good(const TemporaryFolder& folder) {
  folder.write(kFirst, safetensors_with({"a", "b"}));
  folder.write(kSecond, safetensors_with({"c"}));
  folder.write(
      kIndex,
      fmt::format(
          R"({{"metadata":{{"total_size":48}},"weight_map":{{"a":"{0}","b":"{0}","c":"{1}"}}}})",
          kFirst, kSecond));
}

std::string refusal_of(const TemporaryFolder& folder, std::string_view file) {
  return message_of<DamagedFile>([&] { open_folder_weights(folder.path()); }, folder.file(file));
}

TEST(Sharded, a_good_set_reads_as_one_source) {
  const TemporaryFolder folder;
  write_good(folder);
  folder.write("consolidated.safetensors", safetensors_with({"other"}));  // as some publishers add
  const auto source = open_folder_weights(folder.path());
  EXPECT_EQ(source->tensors().size(), 3u);
  EXPECT_EQ(read_floats(*source, "c"), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(source->find("d"), nullptr);
  expect_contains(message_of<DamagedFile>([&] { source->require("d"); }, kIndex),
                  "among its 3 are a, b, c");
}

TEST(Sharded, missing_shards_are_named) {
  const TemporaryFolder folder;
  write_good(folder);
  std::filesystem::remove(folder.file(kSecond));
  const std::string text = refusal_of(folder, kIndex);
  expect_contains(text, "missing");
  expect_contains(text, kSecond);
}

TEST(Sharded, a_shard_that_lacks_a_tensor_of_the_index_is_named) {
  const TemporaryFolder folder;
  write_good(folder);
  folder.write(kFirst, safetensors_with({"a"}));
  const std::string text = refusal_of(folder, kFirst);
  expect_contains(text, "lacks");
  expect_contains(text, "b");
}

TEST(Sharded, a_tensor_that_is_not_in_the_index_is_named) {
  const TemporaryFolder folder;
  write_good(folder);
  folder.write(kSecond, safetensors_with({"c", "stranger"}));
  const std::string text = refusal_of(folder, kSecond);
  expect_contains(text, "not in");
  expect_contains(text, "stranger");
  // Also one that the index places in another shard.
  folder.write(kSecond, safetensors_with({"c", "a"}));
  expect_contains(refusal_of(folder, kSecond), "not in");
}

TEST(Sharded, a_shard_on_disk_that_the_index_does_not_name_is_named) {
  const TemporaryFolder folder;
  write_good(folder);
  folder.write("model-00003-of-00003.safetensors", safetensors_with({"d"}));
  expect_contains(refusal_of(folder, kIndex), "model-00003-of-00003.safetensors");
}

TEST(Sharded, every_shards_size_is_checked_before_anything_is_read) {
  const TemporaryFolder folder;
  write_good(folder);
  const std::string good = safetensors_with({"c"});
  folder.write(kSecond, good.substr(0, good.size() - 5));
  const std::string text = refusal_of(folder, kSecond);
  expect_contains(text, "cut short");
  expect_contains(text, std::to_string(good.size()));
}

TEST(Sharded, an_index_that_is_no_index_is_refused) {
  const TemporaryFolder folder;
  write_good(folder);
  for (const std::string index :
       {"", "{", "[]", "{}", R"({"weight_map":{}})", R"({"weight_map":[]})",
        R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":"../model.safetensors"}})",
        R"({"weight_map":{"a":"/etc/passwd"}})", R"({"weight_map":{"a":""}})",
        "version https://git-lfs.github.com/spec/v1\n", "<html></html>"}) {
    folder.write(kIndex, index);
    refusal_of(folder, kIndex);
  }
  folder.write(kIndex,
               "{\"weight_map\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  expect_contains(refusal_of(folder, kIndex), "deep");
}

TEST(Sharded, shards_without_their_index_are_refused) {
  const TemporaryFolder folder;
  write_good(folder);
  std::filesystem::remove(folder.file(kIndex));
  expect_contains(
      message_of<DamagedFile>([&] { open_folder_weights(folder.path()); }, folder.path()), kIndex);
}

TEST(Sharded, a_folder_without_readable_weights_says_what_it_has) {
  const TemporaryFolder folder;
  expect_contains(message_of<UserError>([&] { open_folder_weights(folder.path()); }, folder.path()),
                  "no weights");
  folder.write("pytorch_model.bin", "PK");
  expect_contains(message_of<UserError>([&] { open_folder_weights(folder.path()); }, folder.path()),
                  "pytorch_model.bin");
}

TEST(Sharded, a_file_without_tensors_is_refused) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", safetensors_bytes("{}", ""));
  expect_contains(message_of<DamagedFile>([&] { open_folder_weights(folder.path()); }, path),
                  "no tensors");
}

}  // namespace
}  // namespace cairn::test
