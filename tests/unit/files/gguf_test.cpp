// GGUF containers that broke readers, and what must be read.
#include "files/gguf.h"

#include <gtest/gtest.h>

#include <clocale>

#include "file_builders.h"
#include "files/gguf_model.h"

namespace cairn::test {
namespace {

template <typename E = DamagedFile>
std::string refusal_of(const std::string& content) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.gguf", content);
  return message_of<E>([&] { GgufFile file(path); }, path);
}

std::string head(uint64_t num_tensors, uint64_t num_values, uint32_t version = 3) {
  return "GGUF" + bytes_of(version) + bytes_of(num_tensors) + bytes_of(num_values);
}

TEST(Gguf, names_what_the_file_really_is) {
  expect_contains(refusal_of(""), "empty file");
  expect_contains(refusal_of("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
                  "Git LFS");
  expect_contains(refusal_of("tjgg" + std::string(60, '\1')), "legacy GGML");
  expect_contains(refusal_of("lmgg" + std::string(60, '\1')), "legacy GGML");
  expect_contains(refusal_of(std::string("PK\x03\x04", 4) + std::string(60, 'x')), "zip");
  expect_contains(refusal_of("<html>"), "HTML");
  refusal_of(safetensors_with({"a"}));
  refusal_of("GG");
  expect_contains(refusal_of("GGUF"), "cut short");
  expect_contains(refusal_of<UserError>(head(0, 0, 1)), "version 1");
  expect_contains(refusal_of<UserError>(head(0, 0, 99)), "version 99");
  expect_contains(refusal_of<UserError>(head(0, 0, 0x03000000)), "big-endian");
}

TEST(Gguf, lengths_and_counts_are_bounded_by_the_file) {
  // A string of about 1 GiB in a small file; a key length that no memory holds.
  refusal_of(head(0, 1) + GgufBuilder::string("k") + bytes_of(uint32_t{8}) +
             bytes_of(uint64_t{1} << 30) + std::string(100, 'x'));
  refusal_of(head(0, 1) + bytes_of(uint64_t{0xFFFFFFFFFFFF}));
  refusal_of(head(0, 1) + bytes_of(UINT64_MAX));
  for (uint64_t count : {uint64_t{1000}, uint64_t{1} << 40, UINT64_MAX}) {
    refusal_of(head(count, 0));
    refusal_of(head(0, count));
    for (uint32_t type : {0u, 4u, 8u, 9u, 12u})
      refusal_of(head(0, 1) + GgufBuilder::string("k") + bytes_of(uint32_t{9}) + bytes_of(type) +
                 bytes_of(count) + std::string(64, '\0'));
  }
}

TEST(Gguf, every_truncation_of_a_good_file_is_refused) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.gguf", tiny_llama().u32("last", 1).build());
  GgufFile{path};
  for (auto bytes = std::filesystem::file_size(path) - 1; bytes >= 4;
       bytes -= bytes > 1400 ? 50 : 1) {
    std::filesystem::resize_file(path, bytes);
    EXPECT_THROW(GgufFile{path}, DamagedFile) << bytes;
  }
}

TEST(Gguf, keys_and_values_must_be_known_and_single) {
  expect_contains(refusal_of(GgufBuilder().u32("", 1).build()), "key of 0 bytes");
  expect_contains(refusal_of(GgufBuilder().u32("a", 1).u32("a", 1).build()), "twice");
  expect_contains(refusal_of(GgufBuilder().raw_value("a", 13, "xxxx").build()), "type 13");
  std::string nested;
  for (int depth = 0; depth < 50; ++depth) nested += bytes_of(uint32_t{9}) + bytes_of(uint64_t{1});
  expect_contains(
      refusal_of(GgufBuilder().raw_value("a", 9, nested + std::string(64, '\0')).build()), "nests");
}

TEST(Gguf, alignment_is_a_small_power_of_two_in_u32) {
  for (uint32_t alignment : {0u, 3u, 48u, 1u << 30, UINT32_MAX})
    expect_contains(refusal_of(GgufBuilder().u32("general.alignment", alignment).build()),
                    "power of two");
  refusal_of(GgufBuilder().raw_value("general.alignment", 5, bytes_of(int32_t{32})).build());
  refusal_of(GgufBuilder().raw_value("general.alignment", 10, bytes_of(uint64_t{32})).build());
  refusal_of(GgufBuilder().text("general.alignment", "32").build());
  GgufBuilder wide;
  wide.alignment = 64;
  wide.u32("general.alignment", 64).tensor("t", {4}, 0, floats(4)).tensor("u", {4}, 0, floats(4));
  const TemporaryFolder folder;
  const GgufFile file(folder.write("model.gguf", wide.build()));
  EXPECT_EQ(file.tensors()[1].offset % 64, 0);
}

TEST(Gguf, dimensions_are_positive_few_and_do_not_overflow) {
  const auto with = [](const std::vector<uint64_t>& dims) {
    return GgufBuilder().raw_tensor("t", dims, 0, 0, floats(4)).build();
  };
  expect_contains(refusal_of(with({4, 0})), "dimension of 0");
  expect_contains(refusal_of(with({UINT64_MAX})), "dimension of -1");
  expect_contains(refusal_of(with({1, 1, 1, 1, 1})), "5 dimensions");
  expect_contains(refusal_of(with(std::vector<uint64_t>(9, 1))), "9 dimensions");
  expect_contains(refusal_of(with({})), "0 dimensions");
  expect_contains(refusal_of(with({uint64_t{1} << 40, uint64_t{1} << 40})), "overflows");
  expect_contains(refusal_of(with({uint64_t{1} << 62})), "overflows");
  expect_contains(refusal_of(with({5})), "cut short");
}

TEST(Gguf, tensors_lie_in_the_file_aligned_alone_and_under_a_name) {
  expect_contains(refusal_of(GgufBuilder().raw_tensor("t", {4}, 0, 4, floats(8)).build()),
                  "alignment");
  expect_contains(refusal_of(GgufBuilder().raw_tensor("t", {4}, 0, 32, floats(4)).build()),
                  "cut short");
  expect_contains(
      refusal_of(GgufBuilder().raw_tensor("t", {4}, 0, UINT64_MAX - 31, floats(4)).build()),
      "beyond");
  expect_contains(
      refusal_of(GgufBuilder().raw_tensor("t", {4}, 0, uint64_t{1} << 62, floats(4)).build()),
      "cut short");
  expect_contains(refusal_of(GgufBuilder()
                                 .raw_tensor("t", {4}, 0, 0, floats(4))
                                 .raw_tensor("u", {4}, 0, 0, floats(4))
                                 .build()),
                  "over each other");
  expect_contains(
      refusal_of(
          GgufBuilder().tensor("t", {4}, 0, floats(4)).tensor("t", {4}, 0, floats(4)).build()),
      "twice");
  expect_contains(refusal_of(GgufBuilder().tensor("", {4}, 0, floats(4)).build()),
                  "name of 0 bytes");
  expect_contains(refusal_of(GgufBuilder().tensor(std::string(65, 'x'), {4}, 0, floats(4)).build()),
                  "65");
  expect_contains(refusal_of(GgufBuilder().tensor("t", {33}, 8, std::string(68, 'x')).build()),
                  "whole blocks");
  expect_contains(refusal_of<UserError>(GgufBuilder().tensor("t", {4}, 99, floats(4)).build()),
                  "type 99");
}

TEST(Gguf, reads_every_kind_of_value_and_turns_dimensions) {
  GgufBuilder builder;
  builder.raw_value("u8", 0, bytes_of(uint8_t{200}))
      .raw_value("i8", 1, bytes_of(int8_t{-7}))
      .raw_value("u16", 2, bytes_of(uint16_t{60000}))
      .raw_value("i16", 3, bytes_of(int16_t{-300}))
      .u32("u32", 4'000'000'000u)
      .raw_value("i32", 5, bytes_of(int32_t{-70000}))
      .f32("f32", 1e-5f)
      .raw_value("bool", 7, bytes_of(uint8_t{1}))
      .text("string", "text")
      .texts("array", {"a", "b"})
      .raw_value("u64", 10, bytes_of(uint64_t{1} << 40))
      .raw_value("i64", 11, bytes_of(int64_t{-1} * (int64_t{1} << 40)))
      .raw_value("f64", 12, bytes_of(0.1))
      .tensor("t", {3, 2}, 0, floats(6));
  for (uint32_t version : {2u, 3u}) {
    builder.version = version;
    const TemporaryFolder folder;
    const GgufFile file(folder.write("model.gguf", builder.build()));
    EXPECT_EQ(file.count("u8"), 200);
    EXPECT_EQ(file.find("i16")->get<int>(), -300);
    EXPECT_EQ(file.number("f32"), 1e-5);  // what was meant, not the f32's tail
    EXPECT_EQ(file.number("f64"), 0.1);
    EXPECT_TRUE(file.flag("bool", false));
    EXPECT_EQ(file.find("array")->at(1), "b");
    EXPECT_EQ(file.find("u64")->get<uint64_t>(), uint64_t{1} << 40);
    EXPECT_EQ(file.tensors()[0].shape, (Shape{2, 3}));
    EXPECT_THROW(file.count("i8"), DamagedFile);
    EXPECT_THROW(file.count("u64"), DamagedFile);
    EXPECT_THROW(file.text("u8"), DamagedFile);
    EXPECT_THROW(file.number("absent"), DamagedFile);
    EXPECT_EQ(file.count("absent", 3), 3);
  }
}

TEST(Gguf, numbers_are_read_alike_in_any_locale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  const char* with_commas = nullptr;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8"})
    if (!with_commas) with_commas = std::setlocale(LC_NUMERIC, name);
  if (!with_commas) GTEST_SKIP() << "no locale that writes 0,5 is installed";
  const TemporaryFolder folder;
  const GgufFile file(folder.write("model.gguf", GgufBuilder().f32("f32", 0.5f).build()));
  EXPECT_EQ(file.number("f32"), 0.5);
  std::setlocale(LC_NUMERIC, before.c_str());
}

}  // namespace
}  // namespace cairn::test
