// The reader's conformance set: what must be refused, each for its own reason, and what must be
// read.
#include "files/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "file_builders.h"
#include "files/sharded.h"
#include "numeric/bfloat16.h"

namespace cairn::test {
namespace {

std::string refusal_of(const TemporaryFolder& folder, std::string_view content) {
  const std::string path = folder.write("model.safetensors", content);
  return message_of<DamagedFile>([&] { SafetensorsFile file(path); }, path);
}

// The header of one tensor `t`.
std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"t":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

TEST(SafetensorsReader, names_what_the_file_really_is) {
  const TemporaryFolder folder;
  expect_contains(refusal_of(folder,
                             "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab"
                             "2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"),
                  "Git LFS pointer, not weights");
  expect_contains(refusal_of(folder, ""), "empty file");
  expect_contains(refusal_of(folder, std::string("PK\x03\x04", 4) + std::string(60, 'x')),
                  "zip archive");
  expect_contains(refusal_of(folder, "\x80\x02}q\x00(X" + std::string(60, 'x')), "pickle");
  expect_contains(refusal_of(folder, "<!DOCTYPE html><html><body>404</body></html>"), "HTML page");
  expect_contains(refusal_of(folder, "  \n<html>Sorry</html>"), "HTML page");
  expect_contains(refusal_of(folder, "GGUF" + std::string(60, '\x03')), "GGUF");
  expect_contains(refusal_of(folder, "Entry not found"), "Entry not found");
  expect_contains(refusal_of(folder, R"({"error":"Repository not found"})"), "JSON text");
  expect_contains(refusal_of(folder, std::string(4096, '\0')), "zero bytes");
  expect_contains(refusal_of(folder, "\x1f\x8b\x08" + std::string(60, 'x')), "gzip");
  expect_contains(refusal_of(folder, "abc"), "abc");
  expect_contains(refusal_of(folder, "\x01\x02\x03"), "3 bytes");
}

TEST(SafetensorsReader, a_length_that_looks_like_another_format_is_still_a_length) {
  const TemporaryFolder folder;
  // 0x0280 = 640: the first bytes of a pickle of protocol 2.
  std::string header = one("F32", "[1]", "[0,4]");
  header.resize(640, ' ');
  const SafetensorsFile file(folder.write("model.safetensors", safetensors_bytes(header, "abcd")));
  EXPECT_EQ(file.tensors().size(), 1u);
}

TEST(SafetensorsReader, refuses_lengths_that_lie) {
  const TemporaryFolder folder;
  expect_contains(refusal_of(folder, std::string("\x3c\x00\x00\x00\x00\xff\xff\xff", 8)), "claims");
  expect_contains(refusal_of(folder, std::string("\x3c\x00\x00\x00\x00\x00\x00\x00", 8)),
                  "cut short");
  expect_contains(refusal_of(folder, bytes_of(uint64_t{1000}) + one("F32", "[1]", "[0,4]")),
                  "1000");
  expect_contains(refusal_of(folder, bytes_of(uint64_t{132'095'296}) + "{}"), "132095296");
  expect_contains(refusal_of(folder, bytes_of(uint64_t{132'095'296}) + "{}"), "100000000");
  expect_contains(refusal_of(folder, bytes_of(UINT64_MAX) + "{}"), "claims");
}

TEST(SafetensorsReader, refuses_headers_that_are_no_json_object) {
  const TemporaryFolder folder;
  for (const std::string header :
       {"\xff", "{", "[]", "null", "\t\n{}\r ", "{}{}", "{\"t\":}", "{\"\xff\":1}"})
    refusal_of(folder, safetensors_bytes(header, ""));
  refusal_of(folder, safetensors_bytes("", ""));
}

TEST(SafetensorsReader, refuses_entries_that_do_not_describe_a_tensor) {
  const TemporaryFolder folder;
  for (const std::string entry :
       {"1",
        "[]",
        "\"x\"",
        "null",
        "{}",
        R"({"dtype":"F32","shape":[1]})",
        R"({"dtype":"F32","data_offsets":[0,4]})",
        R"({"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":1,"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})",
        R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[[1]],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})",
        R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[18446744073709551611,18446744073709551615]})",
        R"({"dtype":{"a":1},"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[{}],"data_offsets":[0,4]})"})
    refusal_of(folder, safetensors_bytes("{\"t\":" + entry + "}", "abcd"));
}

TEST(SafetensorsReader, refuses_duplicate_keys) {
  const TemporaryFolder folder;
  const std::string t = R"("t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_contains(refusal_of(folder, safetensors_bytes("{" + t + "," + t + "}", "")), "twice");
  expect_contains(
      refusal_of(folder,
                 safetensors_bytes(
                     R"({"t":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "")),
      "twice");
  expect_contains(
      refusal_of(folder, safetensors_bytes(R"({"__metadata__":{"a":"1","a":"2"}})", "")), "twice");
  expect_contains(
      refusal_of(folder, safetensors_bytes(R"({"__metadata__":{},"__metadata__":{}})", "")),
      "twice");
}

TEST(SafetensorsReader, refuses_metadata_that_is_not_text) {
  const TemporaryFolder folder;
  for (const std::string metadata :
       {"1", "[]", "\"x\"", R"({"a":1})", R"({"a":{}})", R"({"a":[]})", R"({"a":null})"})
    refusal_of(folder, safetensors_bytes("{\"__metadata__\":" + metadata + "}", ""));
}

TEST(SafetensorsReader, refuses_data_with_holes_overlaps_or_another_length) {
  const TemporaryFolder folder;
  std::string shared = "{";
  for (int n = 0; n < 10; ++n)
    shared += fmt::format(R"({}"t{}":{{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})",
                          n ? "," : "", n);
  expect_contains(refusal_of(folder, safetensors_bytes(shared + "}", std::string(16, 'x'))),
                  "overlap");
  const std::string good = safetensors_with({"a", "b"});
  expect_contains(refusal_of(folder, good + "extra_bogus_data_for_polyglot_file"),
                  "does not belong");
  const std::string cut = refusal_of(folder, good.substr(0, good.size() - 2));
  expect_contains(cut, "cut short");
  expect_contains(cut, std::to_string(good.size()));
  expect_contains(cut, std::to_string(good.size() - 2));
  expect_contains(refusal_of(folder, safetensors_bytes(one("U8", "[1]", "[1,2]"), "ab")), "holes");
}

TEST(SafetensorsReader, refuses_shapes_that_do_not_fit_their_bytes_or_overflow) {
  const TemporaryFolder folder;
  refusal_of(folder, safetensors_bytes(one("I32", "[2,2]", "[0,4]"), "abcd"));
  expect_contains(
      refusal_of(folder, safetensors_bytes(one("I32", "[2,18446744073709551614]", "[0,16]"),
                                           std::string(16, 'x'))),
      "overflows");
  expect_contains(
      refusal_of(folder, safetensors_bytes(one("I32", "[2,9223372036854775807]", "[0,16]"),
                                           std::string(16, 'x'))),
      "overflows");
  refusal_of(folder, safetensors_bytes(
                         one("F32", "[4611686018427387904,4611686018427387904,0]", "[0,0]"), ""));
  refusal_of(folder, safetensors_bytes(one("F4", "[3]", "[0,1]"), "a"));
}

TEST(SafetensorsReader, accepts_what_the_format_allows) {
  const TemporaryFolder folder;
  const auto open = [&](const std::string& content) {
    return SafetensorsFile(folder.write("model.safetensors", content));
  };
  EXPECT_EQ(open(safetensors_bytes("{}\r \t\n", "")).tensors().size(), 0u);
  EXPECT_EQ(open(safetensors_bytes(one("F32", "[]", "[0,4]"), "abcd")).tensors()[0].shape.rank(),
            0);
  EXPECT_EQ(open(safetensors_bytes(one("I32", "[2,0]", "[0, 0]"), "")).tensors()[0].shape,
            (Shape{2, 0}));
  EXPECT_EQ(open(safetensors_bytes(one("F4", "[4]", "[0,2]"), "ab")).tensors()[0].bytes, 2);
  EXPECT_EQ(open(safetensors_bytes(one("U8", "[1,1,1,1,3]", "[0,3]"), "abc")).tensors()[0].shape,
            (Shape{1, 1, 1, 3}));
  // Unknown fields, and a tensor before the metadata.
  const SafetensorsFile file = open(safetensors_bytes(
      R"({"t":{"note":[{"a":[1,{}]}],"dtype":"U8","more":{"dtype":"F32"},"shape":[1],"data_offsets":[0,1],"x":null},)"
      R"("__metadata__":{"format":"pt"}})",
      "a"));
  EXPECT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

TEST(SafetensorsReader, says_that_a_missing_file_is_missing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("absent.safetensors");
  message_of<UserError>([&] { SafetensorsFile file(path); }, path);
}

TEST(SafetensorsReader, reads_every_plain_type_rounded_to_nearest_even) {
  const TemporaryFolder folder;
  // f16: 1.5, the least subnormal, infinity, and one past half a bf16 step.
  const std::string header = R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]},)"
                             R"("d":{"dtype":"F64","shape":[1],"data_offsets":[10,18]},)"
                             R"("f":{"dtype":"F32","shape":[3],"data_offsets":[18,30]}})";
  std::string data;
  for (uint16_t bits : {0x3e00, 0x0001, 0x7c00, 0xbc03})
    data += bytes_of(static_cast<uint16_t>(bits));
  data += bytes_of(uint16_t{0x4049}) + bytes_of(-2.5);
  for (uint32_t bits : {0x3f808000u, 0x3f818000u, 0x7f800001u}) data += bytes_of(bits);
  const SafetensorsFile file(folder.write("model.safetensors", safetensors_bytes(header, data)));
  EXPECT_EQ(
      read_floats(file, "h"),
      (std::vector<float>{1.5f, 0x1p-24f, std::numeric_limits<float>::infinity(), -1.0029296875f}));
  EXPECT_EQ(read_floats(file, "b"), std::vector<float>{3.140625f});
  EXPECT_EQ(read_floats(file, "d"), std::vector<float>{-2.5f});
  std::array<bf16, 3> narrow{};
  std::vector<std::byte> scratch(kLeastReadScratchBytes);
  file.read(file.require("f"), {reinterpret_cast<std::byte*>(narrow.data()), DType::bf16, {3}},
            scratch);
  EXPECT_EQ(narrow[0].bits, 0x3f80);  // a tie goes to the even neighbour
  EXPECT_EQ(narrow[1].bits, 0x3f82);
  EXPECT_TRUE(std::isnan(to_float(narrow[2])));
}

TEST(SafetensorsReader, reads_ranges_and_large_tensors_by_several_readers) {
  const TemporaryFolder folder;
  constexpr int64_t kRows = 1021, kColumns = 4099;  // 16 MiB of f32, no power of two
  const std::string path = folder.file("model.safetensors");
  std::vector<float> values(static_cast<size_t>(kRows * kColumns));
  for (size_t n = 0; n < values.size(); ++n) values[n] = static_cast<float>(n % 65521) - 1000.f;
  SafetensorsWriter writer(path, {{"t", FileType::f32, {kRows, kColumns}}}, {});
  writer.append("t", std::as_bytes(std::span(values)));
  writer.finish();
  const SafetensorsFile file(path);
  EXPECT_EQ(read_floats(file, "t"), values);
  std::vector<bf16> narrow(values.size());
  std::vector<std::byte> scratch(kReadScratchBytes);
  file.read(file.require("t"),
            {reinterpret_cast<std::byte*>(narrow.data()), DType::bf16, {kRows, kColumns}}, scratch);
  for (size_t n = 0; n < values.size(); ++n)
    ASSERT_EQ(narrow[n].bits, to_bf16(values[n]).bits) << n;
  std::vector<float> rows(3 * kColumns);
  file.read_rows(file.require("t"), 500, 3,
                 {reinterpret_cast<std::byte*>(rows.data()), DType::f32, {3, kColumns}}, scratch);
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), values.begin() + 500 * kColumns));
}

TEST(SafetensorsReader, nothing_behind_a_byte_of_zero_in_the_header_is_dropped) {
  const TemporaryFolder folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string path = folder.write(
      "model.safetensors", safetensors_bytes(header + std::string(1, '\0') + R"({"b":7})", "abcd"));
  expect_contains(message_of<DamagedFile>([&] { SafetensorsFile file(path); }, path),
                  "zero at byte " + std::to_string(header.size()));
}

TEST(SafetensorsReader, a_file_cut_while_open_is_an_error_from_every_reader) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", safetensors_with({"a"}));
  const SafetensorsFile file(path);
  std::filesystem::resize_file(path, 20);
  message_of<DamagedFile>([&] { read_floats(file, "a"); }, path);
}

TEST(SafetensorsReader, counts_types_that_it_cannot_read_before_any_work) {
  const TemporaryFolder folder;
  const std::string header = R"({"a.weight":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]},)"
                             R"("b.weight":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[1,2]},)"
                             R"("c.weight":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                             R"("position_ids":{"dtype":"I64","shape":[0],"data_offsets":[3,3]}})";
  const std::string path = folder.write("model.safetensors", safetensors_bytes(header, "abc"));
  const std::string text = message_of<UserError>([&] { open_folder_weights(folder.path()); }, path);
  expect_contains(text, "F8_E4M3 (2 tensors)");
  expect_contains(text, "U8 (1 tensors)");
  EXPECT_EQ(text.find("I64"), std::string::npos);
}

}  // namespace
}  // namespace cairn::test
