// JSON from outside is bounded before it is parsed, and refused where readers could differ.
#include "base/json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cairn {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    parse_json(text, "f.json");
  } catch (const DamagedFile& error) {
    return error.what();
  }
  return "(read)";
}

void expect_word(const std::string& text, const std::string& word) {
  EXPECT_NE(refusal_of(text).find(word), std::string::npos) << refusal_of(text);
}

TEST(Json, measures_depth_and_members_without_parsing) {
  const JsonExtent extent = measure_json(R"({"a:{": [[1, "x\"]:"], {"b": {}}], "c": null})");
  EXPECT_EQ(extent.depth, 4);
  EXPECT_EQ(extent.members, 3);
  EXPECT_EQ(extent.most_members, 2);
  EXPECT_EQ(measure_json(R"([{"a": 1, "b": 2}, {"a": {"b": 1, "c": 2, "d": 3}}])").most_members, 3);
  EXPECT_EQ(measure_json("]]:{:").most_members, 0) << "no JSON, and nothing written out of bounds";
  EXPECT_EQ(measure_json("").depth, 0);
  EXPECT_EQ(measure_json("\"\\").depth, 0);
}

TEST(Json, nesting_is_bounded_before_parsing) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') + "1" +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_EQ(refusal_of(nested(kDeepestJson)), "(read)");
  expect_word(nested(kDeepestJson + 1), "200 levels");
  expect_word(std::string(5'000'000, '['), "200 levels");
  expect_word(std::string(1'000'000, '{'), "200 levels");
}

TEST(Json, a_key_given_twice_is_refused_by_name_at_any_depth) {
  expect_word(R"({"a": 1, "a": 2})", "\"a\" twice");
  expect_word(R"([{"x": {"deep:": 1, "deep:": 1}}])", "\"deep:\" twice");
  // The same key in two objects is no repetition, nor is a colon in a text.
  EXPECT_EQ(refusal_of(R"([{"a": "b:c:"}, {"a": {"a": 1}}])"), "(read)");
  // An escaped spelling is the same key.
  expect_word(R"({"a": 1, "\u0061": 2})", "\"a\" twice");
}

TEST(Json, numbers_that_no_double_holds_are_refused) {
  expect_word(R"({"a": 1e999})", "out of range");
  expect_word(R"({"a": -1e999})", "out of range");
  // Large and finite is a number.
  EXPECT_EQ(refusal_of(R"({"a": 123456789012345678901234567890})"), "(read)");
}

TEST(Json, what_is_no_json_is_refused_with_its_place) {
  expect_word("{\n \"a\": 1,\n oops}", "line 3");
  expect_word("", "not valid JSON");
  expect_word("{} {}", "not valid JSON");
  expect_word("{\"a\": \"\xff\"}", "not valid JSON");
  expect_word("{\"a\": NaN}", "not valid JSON");
}

TEST(Json, nothing_behind_a_byte_of_zero_is_dropped) {
  using namespace std::string_literals;
  expect_word("{\"a\": 1}\n\0{\"b\": 2}"s, "zero at line 2, column 1");
  expect_word("{}\0"s, "byte of zero");
  expect_word("\0"s, "byte of zero");
  EXPECT_EQ(refusal_of(R"({"a": "\u0000"})"), "(read)");
}

}  // namespace
}  // namespace cairn
