// Templates: the text around each turn, which tokens train, and where a long conversation is cut.
#include "data/chat_template.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

constexpr int32_t kEndOfText = kFirstSpecial, kStart = kFirstSpecial + 1, kEnd = kFirstSpecial + 2,
                  kBegin = kFirstSpecial + 3, kHeader = kFirstSpecial + 4,
                  kHeaderEnd = kFirstSpecial + 5, kTurnEnd = kFirstSpecial + 6;

const Conversation kOneTurn = {"", {{Role::user, "Q1"}, {Role::assistant, "R1"}}};
const Conversation kTwoTurns = {
    "S",
    {{Role::user, "Q1"}, {Role::assistant, "R1"}, {Role::user, "Q2"}, {Role::assistant, "R2"}}};

Example encode(const char* name, const Conversation& conversation,
               const EncodeOptions& options = {}) {
  const Tokenizer tokenizer = small_tokenizer();
  return ChatTemplate::named(name).encode(conversation, tokenizer, options).example;
}

// What trains, as ids; what does not, as kIgnored.
Ids masked(const Ids& ids) { return Ids(ids.size(), kIgnored); }

Ids chat_user(const char* text) {
  return joined({{kStart},
                 byte_ids("user\n"),
                 byte_ids(text),
                 {kEnd, '\n', kStart},
                 byte_ids("assistant\n")});
}
Ids chat_answer(const char* text) { return joined({byte_ids(text), {kEnd, '\n'}}); }

TEST(ChatTemplate, only_answers_train_with_their_closing_tokens) {
  for (const char* name : {"chatml", "qwen3_nothink"}) {
    const Example example = encode(name, kOneTurn);
    EXPECT_EQ(example.ids, joined({chat_user("Q1"), chat_answer("R1")}));
    EXPECT_EQ(example.labels, joined({masked(chat_user("Q1")), chat_answer("R1")}));
  }
}

TEST(ChatTemplate, system_text_stands_once_before_the_first_turn) {
  const Ids system = joined({{kStart}, byte_ids("system\nS"), {kEnd, '\n'}});
  const Example example = encode("chatml", kTwoTurns);
  EXPECT_EQ(example.ids, joined({system, chat_user("Q1"), chat_answer("R1"), chat_user("Q2"),
                                 chat_answer("R2")}));
  EXPECT_EQ(example.labels, joined({masked(system), masked(chat_user("Q1")), chat_answer("R1"),
                                    masked(chat_user("Q2")), chat_answer("R2")}));
  // default_system stands in where a row has none, and never replaces one.
  Conversation without = kTwoTurns;
  without.system = "";
  EXPECT_EQ(encode("chatml", without, {.words = {.default_system = "S"}}), example);
  EXPECT_EQ(encode("chatml", kTwoTurns, {.words = {.default_system = "other"}}), example);
}

TEST(ChatTemplate, llama3_begins_with_the_beginning_of_text) {
  const auto header = [](const char* role) {
    return joined({{kHeader}, byte_ids(role), {kHeaderEnd, '\n', '\n'}});
  };
  EXPECT_EQ(encode("llama3", {"S", kOneTurn.turns}).ids, joined({{kBegin},
                                                                 header("system"),
                                                                 {'S', kTurnEnd},
                                                                 header("user"),
                                                                 byte_ids("Q1"),
                                                                 {kTurnEnd},
                                                                 header("assistant"),
                                                                 byte_ids("R1"),
                                                                 {kTurnEnd}}));
}

TEST(ChatTemplate, alpaca_has_its_own_system_text_and_ends_in_end_of_text) {
  const Example example = encode("alpaca", kOneTurn);
  const Ids answer = joined({byte_ids("R1"), {kEndOfText, '\n', '\n'}});
  EXPECT_EQ(Ids(example.ids.end() - 5, example.ids.end()), answer);
  EXPECT_EQ(Ids(example.labels.end() - 6, example.labels.end()), joined({{kIgnored}, answer}));
  EXPECT_EQ(small_tokenizer().decode(example.ids, true),
            "Below is an instruction that describes a task. Write a response that appropriately "
            "completes the request.\n\n### Instruction:\nQ1\n\n### Response:\nR1\n\n");
  EXPECT_EQ(small_tokenizer().decode(
                encode("alpaca", kOneTurn, {.words = {.default_system = ""}}).ids, true),
            "### Instruction:\nQ1\n\n### Response:\nR1\n\n");
}

TEST(ChatTemplate, alpaca_needs_an_end_of_text_token) {
  json description = small_tokenizer_json();
  description["added_tokens"] = json::array();
  const Tokenizer tokenizer = Tokenizer::from_json(description, nullptr);
  EXPECT_THROW(ChatTemplate::named("alpaca").encode(kOneTurn, tokenizer, {}), UserError);
}

TEST(ChatTemplate, empty_adds_nothing_and_keeps_prompt_and_answer_apart) {
  // "hell" + "o" would merge if they were tokenised together.
  const Example example = encode("empty", {"", {{Role::user, "hell"}, {Role::assistant, "o"}}});
  EXPECT_EQ(example.ids, (Ids{258, 'o'}));
  EXPECT_EQ(example.labels, (Ids{kIgnored, 'o'}));
}

TEST(ChatTemplate, train_on_prompt_labels_everything) {
  const Example example = encode("chatml", kTwoTurns, {.train_on_prompt = true});
  EXPECT_EQ(example.labels, example.ids);
}

TEST(ChatTemplate, mask_history_trains_the_last_answer_only) {
  const Example all = encode("chatml", kTwoTurns);
  const Example last = encode("chatml", kTwoTurns, {.mask_history = true});
  EXPECT_EQ(last.ids, all.ids);
  EXPECT_EQ(last.trained_labels(), static_cast<int64_t>(chat_answer("R2").size()));
  EXPECT_EQ(Ids(last.labels.end() - 4, last.labels.end()), chat_answer("R2"));
}

// Lengths of what is kept of a prompt of `prompt` and an answer of `response` tokens.
std::pair<int64_t, int64_t> kept(size_t prompt, size_t response, int64_t cutoff_len) {
  const Conversation conversation = {
      "", {{Role::user, std::string(prompt, 'x')}, {Role::assistant, std::string(response, 'y')}}};
  const Example example = encode("empty", conversation, {.cutoff_len = cutoff_len});
  const auto answer = std::count_if(example.labels.begin(), example.labels.end(),
                                    [](int32_t label) { return label != kIgnored; });
  return {example.tokens() - answer, answer};
}

TEST(ChatTemplate, the_shorter_side_is_spared_when_a_pair_is_cut) {
  using Lengths = std::pair<int64_t, int64_t>;
  EXPECT_EQ(kept(10, 10, 20), Lengths(10, 10)) << "it fits";
  EXPECT_EQ(kept(90, 9, 20), Lengths(11, 9)) << "a short answer stays whole";
  EXPECT_EQ(kept(9, 90, 20), Lengths(9, 11)) << "a short prompt stays whole";
  EXPECT_EQ(kept(60, 30, 20), Lengths(14, 6)) << "else both in proportion, the answer rounded down";
  // 100 * 0.29 is just below 29 in doubles, and LLaMA-Factory computes it so.
  EXPECT_EQ(kept(71, 29, 50), Lengths(36, 14));
  EXPECT_EQ(kept(142, 58, 100), Lengths(72, 28));
}

TEST(ChatTemplate, cutting_keeps_the_beginning_and_later_turns_get_the_rest) {
  const Conversation conversation = {"",
                                     {{Role::user, "abcd"},
                                      {Role::assistant, "efgh"},
                                      {Role::user, "ijkl"},
                                      {Role::assistant, "mnop"}}};
  const auto text = [&](int64_t cutoff_len, bool mask_history) {
    const Tokenizer tokenizer = small_tokenizer();
    const auto encoded = ChatTemplate::named("empty").encode(
        conversation, tokenizer, {.cutoff_len = cutoff_len, .mask_history = mask_history});
    EXPECT_TRUE(encoded.truncated);
    EXPECT_LE(encoded.example.tokens(), cutoff_len);
    return tokenizer.decode(encoded.example.ids, false);
  };
  // "a b" and "b c" merge, so "abcd" is three tokens.
  EXPECT_EQ(text(7, false), "abcdefgh");
  EXPECT_EQ(text(11, false), "abcdefghijmn");
  EXPECT_EQ(text(8, true), "ijklmnop");
}

TEST(ChatTemplate, a_prompt_ends_where_the_answer_begins) {
  const Tokenizer tokenizer = small_tokenizer();
  const ChatTemplate chatml = ChatTemplate::named("chatml");
  EXPECT_EQ(chatml.encode_prompt({"", {{Role::user, "Q1"}}}, tokenizer), chat_user("Q1"));
  const Conversation three = {"S", {kTwoTurns.turns.begin(), kTwoTurns.turns.begin() + 3}};
  Ids whole = encode("chatml", kTwoTurns).ids;
  whole.resize(whole.size() - chat_answer("R2").size());
  EXPECT_EQ(chatml.encode_prompt(three, tokenizer), whole);
}

TEST(ChatTemplate, stop_ids_are_the_closing_tokens_and_end_of_text) {
  const Tokenizer tokenizer = small_tokenizer();
  const auto stops = [&](const char* name) {
    return ChatTemplate::named(name).stop_ids(tokenizer);
  };
  EXPECT_EQ(stops("chatml"), (Ids{kEnd, kStart, kEndOfText}));
  EXPECT_EQ(stops("qwen3_nothink"), (Ids{kEnd, kEndOfText}));
  EXPECT_EQ(stops("llama3"), (Ids{kTurnEnd, kEndOfText})) << "<|eom_id|> is no token here";
  EXPECT_EQ(stops("alpaca"), Ids{kEndOfText});
}

TEST(ChatTemplate, markers_without_a_token_are_named) {
  json description = small_tokenizer_json();
  description["added_tokens"] = json::array();
  const Tokenizer bare = Tokenizer::from_json(description, nullptr);
  using Names = std::vector<std::string>;
  EXPECT_EQ(ChatTemplate::named("chatml").missing_markers(bare),
            (Names{"<|im_start|>", "<|im_end|>"}));
  EXPECT_EQ(ChatTemplate::named("chatml").missing_markers(small_tokenizer()), Names{});
  EXPECT_EQ(ChatTemplate::named("alpaca").missing_markers(bare), Names{});
}

TEST(ChatTemplate, an_unknown_name_gets_the_nearest_ones) {
  try {
    ChatTemplate::named("chatlm");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("chatml"), std::string::npos) << error.what();
  }
}

TEST(ChatTemplate, turns_out_of_order_are_a_mistake) {
  const Tokenizer tokenizer = small_tokenizer();
  const ChatTemplate chatml = ChatTemplate::named("chatml");
  EXPECT_THROW(chatml.encode({"", {{Role::assistant, "R"}}}, tokenizer, {}), CheckFailed);
  EXPECT_THROW(chatml.encode({"", {{Role::user, "Q"}}}, tokenizer, {}), CheckFailed);
  EXPECT_THROW(chatml.encode_prompt(kOneTurn, tokenizer), CheckFailed);
}

TEST(ChatTemplate, thoughts_are_taken_out_in_one_pass) {
  const EncodeOptions without = {.words = {.enable_thinking = false}};
  const auto answer = [&](const std::string& content) {
    return encode("qwen3", {"", {{Role::user, "Q"}, {Role::assistant, content}}}, without);
  };
  const std::string thought = "<think>\nx\n</think>\n\n";
  EXPECT_EQ(answer(thought + "R" + thought), answer("R"));
  // What is left side by side is no thought, as with Python's re.sub.
  const std::string nested = "<th" + thought + "ink>\ny\n</think>\n\nR";
  EXPECT_NE(small_tokenizer().decode(answer(nested).ids, false).find("<think>\ny\n</think>"),
            std::string::npos);
  // Each erased from all the rest, these would take minutes.
  std::string many;
  for (int i = 0; i < 300'000; ++i) many += thought;
  EXPECT_EQ(answer(many + "R"), answer("R"));
}

}  // namespace
}  // namespace cairn::test
