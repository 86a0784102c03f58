// Rows that list their messages: roles, tools, calls, and the shapes of files that nobody
// described.
#include "data/row_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cairn::test {
namespace {

using json = nlohmann::ordered_json;
using Turns = std::vector<Turn>;

MessageColumns openai_columns() {
  return {.messages = "messages",
          .tools = "tools",
          .role_tag = "role",
          .content_tag = "content",
          .user_tag = "user",
          .assistant_tag = "assistant",
          .observation_tag = "tool",
          .function_tag = "function",
          .openai = true};
}

TEST(RowFormat, sharegpt_rows_carry_tools_calls_and_what_calls_gave) {
  const json row = json::parse(R"({"conversations": [
      {"from": "system", "value": "S"}, {"from": "human", "value": "q"},
      {"from": "function_call", "value": "{\"name\": \"f\", \"arguments\": {}}"},
      {"from": "observation", "value": "o"}, {"from": "gpt", "value": "a"}],
      "tools": [{"name": "f", "b": 1, "a": 2}]})");
  const FormattedRow formatted = messages_row(row, {.tools = "tools"});
  EXPECT_EQ(formatted.skipped, "");
  EXPECT_EQ(formatted.conversation.system, "S");
  EXPECT_EQ(formatted.conversation.tools, R"([{"name": "f", "b": 1, "a": 2}])") << "in their order";
  EXPECT_EQ(formatted.conversation.turns,
            (Turns{{Role::user, "q"},
                   {Role::function, R"({"name": "f", "arguments": {}})"},
                   {Role::observation, "o"},
                   {Role::assistant, "a"}}));
}

TEST(RowFormat, openai_calls_become_one_turn_and_results_are_joined) {
  const json row = json::parse(R"({"messages": [
      {"role": "user", "content": "q"},
      {"role": "assistant", "content": null, "tool_calls": [
          {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
          {"id": "2", "type": "function", "function": {"name": "g", "arguments": {}}}]},
      {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"},
      {"role": "assistant", "content": "a"}]})");
  const FormattedRow formatted = messages_row(row, openai_columns());
  EXPECT_EQ(formatted.skipped, "");
  ASSERT_EQ(formatted.conversation.turns.size(), 4u);
  EXPECT_EQ(formatted.conversation.turns[1].content,
            R"([{"name": "f", "arguments": "{\"x\": 1}"}, {"name": "g", "arguments": {}}])");
  EXPECT_EQ(formatted.conversation.turns[2].content, "1\n</tool_response>\n<tool_response>\n2");
  MessageColumns plain = openai_columns();
  plain.openai = false;
  EXPECT_NE(messages_row(row, plain).skipped.find("formatting: openai"), std::string::npos);
}

TEST(RowFormat, sides_that_do_not_take_turns_are_skipped_with_the_reason) {
  const auto reason = [](const char* messages) {
    return messages_row(json::parse(fmt::format(R"({{"messages": {}}})", messages)),
                        openai_columns())
        .skipped;
  };
  EXPECT_NE(reason(R"([{"role": "assistant", "content": "a"}])").find("alternate"),
            std::string::npos);
  EXPECT_NE(reason(R"([{"role": "user", "content": "a"}])").find("end with an answer"),
            std::string::npos);
  EXPECT_NE(reason(R"([{"role": "wizard", "content": "a"}])").find("wizard"), std::string::npos);
  EXPECT_NE(reason(R"([{"role": "user", "content": 7}])").find("content"), std::string::npos);
  EXPECT_NE(reason("7").find("no list of messages"), std::string::npos);
  EXPECT_NE(reason("[]").find("end with an answer"), std::string::npos);
}

TEST(RowFormat, a_row_that_nobody_described_is_told_by_its_columns) {
  const auto first = [](const char* row, RowUse use = RowUse::conversation) {
    const FormattedRow formatted = undescribed_row(json::parse(row), use);
    return formatted.skipped.empty() ? formatted.conversation.turns[0].content : formatted.skipped;
  };
  EXPECT_EQ(first(R"({"instruction": "q", "output": "a"})"), "q");
  EXPECT_EQ(first(R"({"messages": [{"role": "user", "content": "q"},
                      {"role": "assistant", "content": "a"}]})"),
            "q");
  EXPECT_EQ(first(R"({"conversations": [{"from": "human", "value": "q"},
                      {"from": "gpt", "value": "a"}]})"),
            "q");
  EXPECT_EQ(first(R"({"text": "plain"})", RowUse::document), "plain");
  EXPECT_EQ(first(R"({"instruction": "q", "input": "i"})", RowUse::document), "q\ni");
}

}  // namespace
}  // namespace cairn::test
