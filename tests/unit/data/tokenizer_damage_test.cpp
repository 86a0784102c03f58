// Files of a tokenizer that are JSON and still no tokenizer: each is refused with what was wrong,
// and none takes the stack or the memory.
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/json_field.h"
#include "data/normalizer.h"
#include "data/regex.h"
#include "data/token_decoder.h"
#include "data/tokenizer.h"
#include "unit/data/data_folder.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

std::string damage_of_config(const json& config) {
  return message_of<DamagedFile>([&] { Tokenizer::from_json(small_tokenizer_json(), config); });
}

TEST(TokenizerDamage, keys_of_added_tokens_are_numbers_and_never_parsed_as_json) {
  const auto config_with = [](const std::string& key) {
    return json{{"added_tokens_decoder", {{key, {{"content", "<more>"}}}}}};
  };
  // Brackets in a key count for nothing where the depth of the file is measured.
  const std::string deep(1'000'000, '[');
  expect_says(damage_of_config(config_with(deep + std::string(1'000'000, ']'))), "whole number");
  for (const char* key : {"x", "", "-1", "1.5", "7 ", "[7]", "2147483647", "99999999999999999999"})
    expect_says(damage_of_config(config_with(key)), "whole number");
  EXPECT_EQ(Tokenizer::from_json(small_tokenizer_json(), config_with("700")).id_of("<more>"), 700);
}

TEST(TokenizerDamage, an_id_of_another_kind_is_told_by_its_kind) {
  json deep = json::array();
  for (int i = 0; i < 100'000; ++i) deep = json::array({std::move(deep)});
  expect_says(message_of<DamagedFile>([&] { id_from(deep, "here"); }), "got a JSON array");
  expect_says(message_of<DamagedFile>([] { id_from(-3, "here"); }), "got -3");
}

TEST(TokenizerDamage, added_tokens_are_bounded_one_by_one_and_together) {
  const auto damage_of = [](const json& added) {
    json description = small_tokenizer_json();
    description["added_tokens"] = added;
    return message_of<DamagedFile>([&] { Tokenizer::from_json(description, nullptr); });
  };
  expect_says(damage_of({{{"id", 700}, {"content", std::string(4097, 'x')}}}), "4097 bytes");
  json many = json::array();
  for (int i = 0; i < 1100; ++i)
    many.push_back({{"id", 700 + i}, {"content", std::to_string(i) + std::string(4000, 'x')}});
  expect_says(damage_of(many), "4194304 bytes of added tokens");
}

// A step of a part of the tokenizer, in place of what it has.
std::string damage_of_step(const char* part, const json& step) {
  json description = small_tokenizer_json();
  description[part] = step;
  return message_of<DamagedFile>([&] { Tokenizer::from_json(description, nullptr); });
}

TEST(TokenizerDamage, a_sequence_has_its_list) {
  const json of_others = {{"type", "Sequence"}, {"steps", json::array()}};
  for (const auto& [part, list] : {std::pair{"normalizer", "normalizers"},
                                   {"pre_tokenizer", "pretokenizers"},
                                   {"decoder", "decoders"}}) {
    expect_says(damage_of_step(part, of_others), fmt::format("`{}` should be a list", list));
    json wrong = of_others;
    wrong[list] = {{"type", "Fuse"}};
    expect_says(damage_of_step(part, wrong), fmt::format("`{}` should be a list", list));
  }
}

TEST(TokenizerDamage, the_mark_of_a_space_is_one_character) {
  for (const char* part : {"pre_tokenizer", "decoder"})
    for (const char* mark : {"", "  ", "\u2581\u2581"})
      expect_says(damage_of_step(part, {{"type", "Metaspace"}, {"replacement", mark}}),
                  "`replacement` should be one character");
}

TEST(TokenizerDamage, a_pattern_is_a_string_or_a_regex) {
  const json patterns[] = {nullptr,         json::object(), "x",
                           {{"Glob", "x"}}, {{"Regex", 3}}, {{"String", "x"}, {"Regex", "x"}}};
  for (const json& pattern : patterns) {
    const json replace = {{"type", "Replace"}, {"pattern", pattern}, {"content", ""}};
    const json split = {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}};
    expect_says(damage_of_step("normalizer", replace), "`String` or `Regex`");
    expect_says(damage_of_step("decoder", replace), "`String` or `Regex`");
    expect_says(damage_of_step("pre_tokenizer", split), "`String` or `Regex`");
  }
}

TEST(TokenizerDamage, patterns_that_pcre2_would_take_otherwise_are_refused_by_name) {
  const auto refusal_of = [](const char* pattern) {
    return message_of<UserError>([&] { to_pcre(pattern); });
  };
  expect_says(refusal_of("[a-z&&[^aeiou]]"), "&&");
  expect_says(refusal_of("[[ab][cd]]"), "a class inside of a class");
  expect_says(refusal_of("(?m).+"), "(?m)");
  expect_says(refusal_of("(?im-x:.+)"), "(?m)");
  // One byte in PCRE2, a control character in Oniguruma.
  expect_says(refusal_of("x\\C-a"), "has \\C, which is not built");
  expect_says(refusal_of("[\\C]"), "has \\C, which is not built");
  EXPECT_EQ(to_pcre("\\\\C"), "\\\\C") << "a backslash, then a C";
  expect_says(refusal_of("[\\W]"), "\\W inside of a class");
  expect_says(refusal_of("[\\H]"), "\\H inside of a class");
  for (const char* same :
       {"a&&b", "[[:alpha:]x]", "[\\[&]", "(?i:ma)", "(?<m>a)", "(?=m)", "\\(?m"})
    EXPECT_EQ(to_pcre(same), same);
  EXPECT_EQ(to_pcre("[[:alpha:]\\h]"), "[[:alpha:]0-9a-fA-F]");
  EXPECT_EQ(to_pcre("\\H\\v"), "[^0-9a-fA-F]\\x0B");
}

TEST(TokenizerDamage, steps_that_double_a_text_again_and_again_are_refused) {
  const auto sequence = [](const char* list, const json& pattern) {
    json steps = json::array();
    for (int i = 0; i < 60; ++i)
      steps.push_back({{"type", "Replace"}, {"pattern", pattern}, {"content", "xx"}});
    return json{{"type", "Sequence"}, {list, steps}};
  };
  for (const json& pattern : {json{{"String", "x"}}, json{{"Regex", "x"}}}) {
    json description = small_tokenizer_json();
    description["normalizer"] = sequence("normalizers", pattern);
    const Tokenizer growing = Tokenizer::from_json(description, nullptr);
    EXPECT_EQ(growing.encode("y"), Ids{'y'});
    expect_says(message_of<DamagedFile>([&] { growing.encode("x"); }),
                "tokenizer.json: normalizer");
    const TokenDecoder decoder(sequence("decoders", pattern));
    expect_says(message_of<DamagedFile>([&] { decoder.decode({"x"}); }), "tokenizer.json: decoder");
  }
  // One step alone, of every letter of a long text.
  const auto replace = make_replacement({false, "x"}, std::string(1'000'000, 'y'));
  expect_says(message_of<DamagedFile>([&] { replace(std::string(1'000'000, 'x')); }), "Replace");
  EXPECT_EQ(make_replacement({false, " "}, "\u2581")(std::string(100'000, ' ')).size(), 300'000u);
}

}  // namespace
}  // namespace cairn::test
