// The writer: what it writes is what the reference library would, and nothing appears before it is
// whole.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "file_builders.h"
#include "files/atomic_file.h"
#include "files/safetensors.h"

namespace cairn::test {
namespace {

TEST(SafetensorsWriter, sorts_by_alignment_then_name_and_pads_the_header) {
  const TemporaryFolder folder;
  const std::string path = folder.file("model.safetensors");
  SafetensorsWriter writer(
      path, {{"b", FileType::bf16, {1}}, {"c", FileType::f32, {1}}, {"a", FileType::bf16, {2}}},
      {{"format", "pt"}});
  writer.append("a", std::as_bytes(std::span("aaAA", 4)));
  writer.append("b", std::as_bytes(std::span("bb", 2)));
  writer.append("c", std::as_bytes(std::span("cc", 2)));
  writer.append("c", std::as_bytes(std::span("CC", 2)));  // in pieces
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.finish();
  const std::string bytes = read_all(path);
  EXPECT_TRUE(bytes.ends_with("ccCCaaAAbb"));
  EXPECT_EQ((bytes.size() - 10) % 8, 0u);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), writer.file_bytes());
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.tensors()[0].name, "c");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.safetensors"});
}

TEST(SafetensorsWriter, names_with_quotes_and_empty_tensors_survive) {
  const TemporaryFolder folder;
  const std::string path = folder.file("model.safetensors");
  const std::string name = "quote\" back\\slash \xc3\xa9 \n";
  SafetensorsWriter writer(path, {{name, FileType::f32, {0, 3}}, {"s", FileType::f32, {}}}, {});
  writer.append("s", std::as_bytes(std::span("1234", 4)));
  writer.finish();
  const SafetensorsFile file(path);
  EXPECT_EQ(file.require(name).shape, (Shape{0, 3}));
  EXPECT_EQ(file.require("s").shape, Shape{});
}

TEST(SafetensorsWriter, an_unfinished_file_leaves_the_old_one_and_no_trace) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", "old");
  {
    SafetensorsWriter writer(path, {{"a", FileType::f32, {1}}}, {});
    EXPECT_THROW(writer.finish(), CheckFailed);
  }
  EXPECT_EQ(read_all(path), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.safetensors"});
}

TEST(SafetensorsWriter, keeps_to_the_readers_cap_on_the_header) {
  const TemporaryFolder folder;
  const std::string path = folder.file("model.safetensors");
  std::vector<TensorSpec> tensors;
  for (int n = 0; n < 1000; ++n)
    tensors.push_back({std::string(100'000, 'x') + std::to_string(n), FileType::u8, {0}});
  const std::string text =
      message_of<UserError>([&] { SafetensorsWriter writer(path, tensors, {}); }, path);
  expect_contains(text, "100000000");
  EXPECT_TRUE(folder.names().empty());
}

TEST(SafetensorsWriter, may_replace_the_file_that_is_being_read) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", safetensors_with({"a"}));
  const SafetensorsFile source(path);
  SafetensorsWriter writer(path, {{"a", FileType::f32, {2, 2}}}, {});
  std::array<std::byte, 16> bytes{};
  source.read_bytes(source.require("a"), 0, bytes);
  writer.append("a", bytes);
  writer.finish();
  EXPECT_EQ(read_floats(SafetensorsFile(path), "a"), (std::vector<float>{0, 1, 2, 3}));
}

TEST(AtomicFile, text_appears_whole_and_replaces) {
  const TemporaryFolder folder;
  const std::string path = folder.write("config.json", "old");
  write_text(path, "new");
  EXPECT_EQ(read_all(path), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"config.json"});
}

TEST(AtomicFile, a_folder_that_is_not_there_is_the_users_error) {
  const TemporaryFolder folder;
  const std::string path = folder.file("no/such/file");
  message_of<UserError>([&] { write_text(path, "x"); }, path);
  message_of<UserError>([&] { write_text(folder.path(), "x"); }, folder.path());
}

TEST(AtomicFile, a_failed_write_says_so_and_leaves_nothing) {
  // /dev/full cannot be renamed over, so the limit on file size stands in for a full disk.
  const TemporaryFolder folder;
  const std::string path = folder.write("out", "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text =
      message_of<DeviceError>([&] { write_text(path, std::string(10'000, 'x')); }, path);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_contains(text, "larger than");
  EXPECT_EQ(read_all(path), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
}

}  // namespace
}  // namespace cairn::test
