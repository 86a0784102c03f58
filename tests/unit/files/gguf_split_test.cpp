// Split GGUF models: the parts are one model, and parts that do not belong together are named.
#include "files/gguf_split.h"

#include <gtest/gtest.h>

#include "file_builders.h"
#include "files/gguf_model.h"

namespace cairn::test {
namespace {

constexpr const char* kFirst = "tiny-00001-of-00002.gguf";
constexpr const char* kSecond = "tiny-00002-of-00002.gguf";

GgufBuilder first_part(uint32_t count = 2) {
  return tiny_llama().u32("split.no", 0).u32("split.count", count).u32("split.tensors.count", 6);
}

GgufBuilder second_part(uint32_t number = 1) {
  GgufBuilder builder;
  builder.u32("split.no", number)
      .u32("split.count", 2)
      .u32("split.tensors.count", 6)
      .tensor("blk.0.attn_v.weight", {16, 8}, 0, floats(128, 7))
      .tensor("output.weight", {16, 4}, 0, floats(64));
  return builder;
}

template <typename E>
std::string refusal_of(const std::string& path) {
  return message_of<E>([&] { open_model(path); }, "tiny-0000");
}

TEST(GgufSplit, parts_are_one_model) {
  const TemporaryFolder folder;
  const std::string path = folder.write(kFirst, first_part().build());
  folder.write(kSecond, second_part().build());
  const ModelFiles model = open_model(path);
  EXPECT_EQ(model.weights->tensors().size(), 6u);
  EXPECT_EQ(read_floats(*model.weights, "model.layers.0.self_attn.v_proj.weight")[2], 9.f);
  EXPECT_EQ(model.config["tie_word_embeddings"], false) << "the head lies in the second part";
  // A folder that holds nothing else is that model.
  EXPECT_EQ(open_model(path.substr(0, path.rfind('/'))).weights->tensors().size(), 6u);
}

TEST(GgufSplit, names_tell_part_and_count) {
  const auto name = parse_split_name("/models/a-b-00002-of-00013.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->part, 2);
  EXPECT_EQ(name->count, 13);
  EXPECT_EQ(name->of_part(1), "/models/a-b-00001-of-00013.gguf");
  for (const char* other : {"a.gguf", "a-00003-of-00002.gguf", "a-00000-of-00002.gguf",
                            "a-1-of-2.gguf", "-00001-of-00002.gguf"})
    EXPECT_FALSE(parse_split_name(other).has_value()) << other;
}

TEST(GgufSplit, another_part_than_the_first_names_the_first) {
  const TemporaryFolder folder;
  folder.write(kFirst, first_part().build());
  const std::string path = folder.write(kSecond, second_part().build());
  expect_contains(refusal_of<UserError>(path), kFirst);
}

TEST(GgufSplit, a_missing_part_is_named) {
  const TemporaryFolder folder;
  const std::string path = folder.write(kFirst, first_part().build());
  expect_contains(refusal_of<DamagedFile>(path), kSecond);
}

TEST(GgufSplit, parts_of_another_model_are_refused) {
  const TemporaryFolder folder;
  const std::string path = folder.write(kFirst, first_part().build());
  folder.write(kSecond, second_part(3).build());
  expect_contains(refusal_of<DamagedFile>(path), "part 2 of 2 was expected");
}

TEST(GgufSplit, a_part_with_too_few_tensors_is_damage) {
  const TemporaryFolder folder;
  const std::string path = folder.write(kFirst, first_part().build());
  GgufBuilder empty;
  empty.u32("split.no", 1).u32("split.count", 2);
  folder.write(kSecond, empty.build());
  expect_contains(refusal_of<DamagedFile>(path), "hold 4 tensors, where 6");
}

TEST(GgufSplit, a_tensor_in_two_parts_is_damage) {
  const TemporaryFolder folder;
  const std::string path = folder.write(kFirst, first_part().build());
  folder.write(kSecond, second_part().tensor("token_embd.weight", {16, 4}, 0, floats(64)).build());
  expect_contains(refusal_of<DamagedFile>(path), "token_embd.weight");
}

}  // namespace
}  // namespace cairn::test
