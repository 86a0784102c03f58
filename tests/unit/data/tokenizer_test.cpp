// What the tokenizer promises, on a vocabulary small enough to follow by hand.
#include "data/tokenizer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

constexpr int32_t kHe = 257, kHello = 259, kAa = 260, kSpaceW = 261, kBc = 262, kAb = 263;

Tokenizer with(const json& changes) {
  json description = small_tokenizer_json();
  description.merge_patch(changes);
  return Tokenizer::from_json(description, nullptr);
}

// An added token beside the small ones.
json adding(json token) {
  json added = small_tokenizer_json()["added_tokens"];
  added.push_back(std::move(token));
  return {{"added_tokens", added}};
}

json splitting(const json& pattern, const char* behavior, bool invert = false) {
  return {{"pre_tokenizer",
           {{"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}},
              {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}}}};
}

TEST(Tokenizer, merges_by_rank_and_leftmost_first) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer.encode("hello"), Ids{kHello});
  EXPECT_EQ(tokenizer.encode("hell"), Ids{258});
  EXPECT_EQ(tokenizer.encode("aaa"), (Ids{kAa, 'a'}));
  // "b c" ranks before "a b", so it merges first though it stands to the right.
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{'a', kBc}));
  EXPECT_EQ(tokenizer.encode("ab"), Ids{kAb});
  EXPECT_EQ(tokenizer.encode(""), Ids{});
}

TEST(Tokenizer, words_do_not_merge_across_pieces) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer.encode("hello world"), (Ids{kHello, kSpaceW, 'o', 'r', 'l', 'd'}));
  EXPECT_EQ(tokenizer.encode("l1l"), (Ids{'l', '1', 'l'}));
}

TEST(Tokenizer, merges_may_be_pairs) {
  json pairs = json::array();
  for (const auto& [left, right] : small_merges()) pairs.push_back({left, right});
  EXPECT_EQ(with({{"model", {{"merges", pairs}}}}).encode("hello abc"),
            small_tokenizer().encode("hello abc"));
}

TEST(Tokenizer, pair_merges_may_hold_spaces) {
  // A raw space is not of the alphabet, so no text reaches such a token, but the file is sound.
  json description = small_tokenizer_json();
  description["model"]["vocab"]["y "] = 900;
  description["model"]["vocab"]["y"] = 'y';
  description["model"]["vocab"][" "] = 901;
  description["model"]["merges"] = json::array({json::array({"y", " "})});
  EXPECT_EQ(Tokenizer::from_json(description, nullptr).vocab_size(), 902);
  description["model"]["merges"] = json::array({"y  "});
  EXPECT_THROW(Tokenizer::from_json(description, nullptr), DamagedFile);
}

TEST(Tokenizer, ignore_merges_takes_a_whole_piece) {
  json description = small_tokenizer_json();
  description["model"]["vocab"]["xyz"] = 800;
  EXPECT_EQ(Tokenizer::from_json(description, nullptr).encode("xyz"), (Ids{'x', 'y', 'z'}));
  description["model"]["ignore_merges"] = true;
  EXPECT_EQ(Tokenizer::from_json(description, nullptr).encode("xyz"), Ids{800});
}

TEST(Tokenizer, long_words_cost_no_more_than_their_length_asks) {
  // Quadratic work on this word would run for minutes.
  const std::string word(400'000, 'a');
  EXPECT_EQ(small_tokenizer().encode(word), Ids(200'000, kAa));
}

TEST(Tokenizer, text_comes_back_from_its_ids) {
  const Tokenizer tokenizer = small_tokenizer();
  const std::string text = "hello wörld \t\n 日本 🦙\x01<|im_end|>";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text), false), text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a<|im_end|>b"), true), "ab");
  EXPECT_EQ(tokenizer.decode(Ids{0xC3}, false), "\xEF\xBF\xBD");
  EXPECT_THROW(tokenizer.decode(Ids{9999}, false), UserError);
  EXPECT_THROW(tokenizer.decode(Ids{-1}, false), UserError);
}

TEST(Tokenizer, invalid_utf8_reads_as_the_replacement_character) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer.encode("x\xFFy"), tokenizer.encode("x\xEF\xBF\xBDy"));
  EXPECT_EQ(tokenizer.encode("x\xE2\x82"), tokenizer.encode("x\xEF\xBF\xBD"));
}

TEST(Tokenizer, special_tokens_are_one_id_wherever_they_stand) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer.encode("<|im_start|>hello<|im_end|>\n"),
            (Ids{kFirstSpecial + 1, kHello, kFirstSpecial + 2, '\n'}));
  EXPECT_EQ(tokenizer.id_of("<|im_end|>"), kFirstSpecial + 2);
  EXPECT_EQ(tokenizer.id_of("hello"), kHello);
  EXPECT_EQ(tokenizer.id_of("absent"), std::nullopt);
  EXPECT_EQ(tokenizer.bos(), kFirstSpecial + 3);
  EXPECT_EQ(tokenizer.eos(), kFirstSpecial);
  EXPECT_FALSE(tokenizer.names_pad());
}

TEST(Tokenizer, added_tokens_may_lie_above_the_vocabulary) {
  EXPECT_EQ(with(adding({{"id", 1000}, {"content", "<new>"}})).vocab_size(), 1001);
  EXPECT_THROW(with(adding({{"id", 2'000'000'000}, {"content", "<new>"}})), DamagedFile);
}

TEST(Tokenizer, the_longest_of_the_leftmost_added_tokens_wins) {
  json description = small_tokenizer_json();
  for (const char* content : {"<a", "<a>b", "a>b!"})
    description["added_tokens"].push_back(
        {{"id", 500 + description["added_tokens"].size()}, {"content", content}});
  const Tokenizer tokenizer = Tokenizer::from_json(description, nullptr);
  EXPECT_EQ(tokenizer.encode("<a>b!"), (Ids{*tokenizer.id_of("<a>b"), '!'}));
  EXPECT_EQ(tokenizer.encode("<a>c"), (Ids{*tokenizer.id_of("<a"), '>', 'c'}));
}

TEST(Tokenizer, added_tokens_mind_their_surroundings) {
  const Ids x = {500};
  const auto token = [](const char* flag) {
    return adding({{"id", 500}, {"content", "xx"}, {flag, true}});
  };
  EXPECT_EQ(with(token("single_word")).encode("xxy"), (Ids{'x', 'x', 'y'}));
  EXPECT_EQ(with(token("single_word")).encode("é xx!"), joined({byte_ids("é "), x, {'!'}}));
  EXPECT_EQ(with(token("lstrip")).encode("q \n xx  "), joined({{'q'}, x, {' ', ' '}}));
  EXPECT_EQ(with(token("rstrip")).encode(" xx \t q"), joined({{' '}, x, {'q'}}));
}

TEST(Tokenizer, normalized_added_tokens_are_found_in_normalized_text) {
  json change = adding({{"id", 500}, {"content", "e\u0301"}, {"normalized", true}});
  change["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  EXPECT_EQ(with(change).encode("\u00e9"), Ids{500});
  EXPECT_EQ(with({{"normalizer", {{"type", "NFC"}}}}).encode("e\u0301"), byte_ids("\u00e9"));
  EXPECT_EQ(small_tokenizer().encode("e\u0301"), byte_ids("e\u0301"));
}

TEST(Tokenizer, the_configuration_may_add_tokens) {
  const json config = {{"added_tokens_decoder", {{"700", {{"content", "<more>"}}}}},
                       {"pad_token", "<more>"}};
  const Tokenizer tokenizer = Tokenizer::from_json(small_tokenizer_json(), config);
  EXPECT_EQ(tokenizer.encode("<more>"), Ids{700});
  EXPECT_EQ(tokenizer.pad(), 700);
  EXPECT_EQ(tokenizer.eos(), std::nullopt);
  EXPECT_THROW(Tokenizer::from_json(small_tokenizer_json(), {{"eos_token", "</s>"}}), DamagedFile);
}

TEST(Tokenizer, a_padding_token_outside_the_vocabulary_is_no_damage) {
  json config = small_tokenizer_config();
  for (const json& pad : {json("[PAD]"), json{{"content", "[PAD]"}}}) {
    config["pad_token"] = pad;
    const Tokenizer tokenizer = Tokenizer::from_json(small_tokenizer_json(), config);
    EXPECT_TRUE(tokenizer.names_pad());
    EXPECT_EQ(tokenizer.pad(), std::nullopt);
    EXPECT_EQ(tokenizer.vocab_size(), small_tokenizer().vocab_size());
  }
}

// The merge "a a" shows where pieces are cut.
TEST(Tokenizer, splits_behave_as_they_are_named) {
  const json dash = {{"String", "-"}};
  const auto ids = [](const Tokenizer& tokenizer, const char* text) {
    return tokenizer.encode(text);
  };
  EXPECT_EQ(ids(with(splitting(dash, "Removed")), "a-a"), (Ids{'a', 'a'}));
  EXPECT_EQ(ids(with(splitting(dash, "Isolated")), "a-a"), (Ids{'a', '-', 'a'}));
  EXPECT_EQ(ids(with(splitting({{"String", "a"}}, "Isolated")), "aa"), (Ids{'a', 'a'}));
  EXPECT_EQ(ids(with(splitting({{"String", "a"}}, "Contiguous")), "aa"), Ids{kAa});
  EXPECT_EQ(ids(with(splitting({{"String", "l"}}, "MergedWithPrevious")), "hell"),
            (Ids{kHe, 'l', 'l'}));
  EXPECT_EQ(ids(with(splitting({{"String", "h"}}, "MergedWithNext")), "hell"), Ids{258});
  EXPECT_EQ(ids(with(splitting({{"Regex", "[a-z]+"}}, "Removed", true)), "1ab2"), Ids{kAb});
  EXPECT_THROW(with(splitting(dash, "Sideways")), UserError);
  EXPECT_THROW(with(splitting({{"Regex", "("}}, "Isolated")), UserError);
}

TEST(Tokenizer, digits_stand_alone_or_together) {
  const auto digits = [](bool individual) {
    return with({{"pre_tokenizer",
                  {{"type", "Sequence"},
                   {"pretokenizers",
                    {{{"type", "Digits"}, {"individual_digits", individual}},
                     {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", true}}}}}}});
  };
  // A prefix space before every piece tells how many there are.
  EXPECT_EQ(digits(true).encode("a12"), byte_ids(" a 1 2"));
  EXPECT_EQ(digits(false).encode("a12"), byte_ids(" a 12"));
}

// The message of the UserError that reading this tokenizer throws.
std::string refusal(const json& changes) {
  try {
    with(changes);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Tokenizer, what_is_not_built_is_refused_by_its_name) {
  const auto expect_named = [](const json& changes, const char* name) {
    EXPECT_NE(refusal(changes).find(name), std::string::npos) << refusal(changes);
  };
  expect_named({{"model", {{"type", "Unigram"}}}}, "Unigram");
  expect_named({{"normalizer", {{"type", "Precompiled"}}}}, "Precompiled");
  expect_named({{"pre_tokenizer", {{"type", "UnicodeScripts"}}}}, "UnicodeScripts");
  expect_named({{"decoder", {{"type", "WordPiece"}}}}, "WordPiece");
  expect_named({{"pre_tokenizer", nullptr}}, "ByteLevel");
  expect_named({{"model", {{"dropout", 0.1}}}}, "dropout");
  expect_named({{"model", {{"end_of_word_suffix", "</w>"}}}}, "end_of_word_suffix");
}

TEST(Tokenizer, contents_that_contradict_each_other_are_damage) {
  EXPECT_THROW(with({{"model", {{"merges", {"q z"}}}}}), DamagedFile);
  EXPECT_THROW(with({{"model", {{"merges", {"q"}}}}}), DamagedFile);
  EXPECT_THROW(with({{"model", {{"merges", 7}}}}), DamagedFile);
  EXPECT_THROW(with({{"model", {{"vocab", {{"a", -1}}}}}}), DamagedFile);
  EXPECT_THROW(with({{"model", {{"unk_token", "<unk>"}}}}), DamagedFile);
  EXPECT_THROW(with({{"model", nullptr}}), DamagedFile);
  EXPECT_THROW(Tokenizer::from_json(json::array(), nullptr), DamagedFile);
}

TEST(Tokenizer, bytes_outside_the_vocabulary_become_the_unknown_token) {
  json description = small_tokenizer_json();
  description["model"]["vocab"].erase("q");
  EXPECT_EQ(Tokenizer::from_json(description, nullptr).encode("aqqa"), Ids{kAa});
  description["model"]["vocab"]["<unk>"] = 600;
  description["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(Tokenizer::from_json(description, nullptr).encode("aqqa"), (Ids{'a', 600, 600, 'a'}));
  description["model"]["fuse_unk"] = true;
  EXPECT_EQ(Tokenizer::from_json(description, nullptr).encode("aqqa"), (Ids{'a', 600, 'a'}));
}

}  // namespace
}  // namespace cairn::test
