// tokenizer.json from a GGUF's vocabulary, and vocabularies that do not fit together.
#include <gtest/gtest.h>

#include <limits>

#include "file_builders.h"
#include "files/gguf_model.h"

namespace cairn::test {
namespace {

// A byte-level vocabulary of a few tokens.
GgufBuilder byte_level(std::string_view pre) {
  GgufBuilder gguf;
  gguf.text("general.architecture", "llama")
      .u32("llama.context_length", 2048)
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", pre)
      .u32("tokenizer.ggml.bos_token_id", 0)
      .u32("tokenizer.ggml.eos_token_id", 4)
      .text("tokenizer.chat_template", "{{ messages }}");
  return gguf;
}
GgufBuilder with_lists(GgufBuilder gguf,
                       const std::vector<std::string>& tokens = {"<s>", "a", "b", "ab", "</s>",
                                                                 "<tool>", "[PAD6]"},
                       const std::vector<int32_t>& types = {3, 1, 1, 1, 3, 4, 5},
                       const std::vector<std::string>& merges = {"a b"}) {
  return gguf.texts("tokenizer.ggml.tokens", tokens)
      .i32s("tokenizer.ggml.token_type", types)
      .texts("tokenizer.ggml.merges", merges);
}

TokenizerFiles tokenizer_of(const GgufBuilder& builder) {
  const TemporaryFolder folder;
  return read_tokenizer(folder.write("vocabulary.gguf", builder.build()));
}

template <typename E = DamagedFile>
std::string refusal_of(const GgufBuilder& builder) {
  const TemporaryFolder folder;
  const std::string path = folder.write("vocabulary.gguf", builder.build());
  return message_of<E>([&] { read_tokenizer(path); }, path);
}

TEST(GgufTokenizer, byte_level_families_have_their_own_pipelines) {
  const nlohmann::json smollm = tokenizer_of(with_lists(byte_level("smollm"))).tokenizer;
  EXPECT_EQ(smollm["pre_tokenizer"]["pretokenizers"][0]["type"], "Digits");
  EXPECT_EQ(smollm["post_processor"]["type"], "ByteLevel");
  const nlohmann::json gpt2 = tokenizer_of(with_lists(byte_level("gpt-2"))).tokenizer;
  EXPECT_EQ(gpt2["pre_tokenizer"]["type"], "ByteLevel");
  EXPECT_EQ(gpt2["pre_tokenizer"]["use_regex"], true);
  const nlohmann::json qwen = tokenizer_of(with_lists(byte_level("qwen2"))).tokenizer;
  EXPECT_EQ(qwen["normalizer"]["type"], "NFC");
  const std::string pattern = qwen["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
  EXPECT_NE(pattern.find("|\\p{N}|"), std::string::npos);
  const nlohmann::json llama = tokenizer_of(with_lists(byte_level("llama-bpe"))).tokenizer;
  EXPECT_EQ(llama["model"]["ignore_merges"], true);
  EXPECT_EQ(llama["post_processor"]["processors"][1]["single"][0]["SpecialToken"]["id"], "<s>");
  EXPECT_EQ(llama["post_processor"]["processors"][1]["special_tokens"]["<s>"]["ids"][0], 0);
}

TEST(GgufTokenizer, tokens_merges_and_added_tokens_are_carried_over) {
  const TokenizerFiles files = tokenizer_of(with_lists(byte_level("smollm")));
  const nlohmann::json& model = files.tokenizer["model"];
  EXPECT_EQ(model["type"], "BPE");
  EXPECT_EQ(model["vocab"].size(), 6u);  // the unused tail is not in a tokenizer.json
  EXPECT_EQ(model["vocab"]["ab"], 3);
  EXPECT_EQ(model["merges"][0], "a b");
  const nlohmann::json& added = files.tokenizer["added_tokens"];
  ASSERT_EQ(added.size(), 3u);
  EXPECT_EQ(added[1]["content"], "</s>");
  EXPECT_EQ(added[1]["special"], true);
  EXPECT_EQ(added[2]["content"], "<tool>");
  EXPECT_EQ(added[2]["special"], false);
  EXPECT_EQ(files.tokenizer_config["bos_token"], "<s>");
  EXPECT_EQ(files.tokenizer_config["eos_token"], "</s>");
  EXPECT_EQ(files.tokenizer_config["chat_template"], "{{ messages }}");
  EXPECT_EQ(files.tokenizer_config["add_bos_token"], false);
  EXPECT_FALSE(files.tokenizer_config.contains("pad_token"));
}

TEST(GgufTokenizer, unknown_kinds_are_refused_by_name) {
  expect_contains(refusal_of<UserError>(with_lists(byte_level("viking"))), "viking");
  GgufBuilder bert;
  bert.text("general.architecture", "llama").text("tokenizer.ggml.model", "bert");
  expect_contains(refusal_of<UserError>(with_lists(bert)), "bert");
}

TEST(GgufTokenizer, lists_that_do_not_fit_are_damage) {
  expect_contains(
      refusal_of(with_lists(byte_level("smollm"), {"<s>", "a", "b", "ab", "</s>"}, {3, 1, 1})),
      "3 entries");
  expect_contains(refusal_of(with_lists(byte_level("smollm"), {"<s>", "a", "a", "ab", "</s>"},
                                        {3, 1, 1, 1, 3})),
                  "twice");
  expect_contains(refusal_of(with_lists(byte_level("smollm"), {"<s>", "a", "b"}, {3, 1, 1})),
                  "eos_token_id");
  expect_contains(refusal_of(with_lists(byte_level("smollm"), {"<s>", "a", "b", "ab", "</s>"},
                                        {3, 1, 1, 1, 3}, {"a c"})),
                  "\"c\" is not");
  expect_contains(refusal_of(with_lists(byte_level("smollm"), {"<s>", "a", "b", "ab", "</s>"},
                                        {3, 1, 1, 1, 3}, {"ab"})),
                  "not two tokens");
  expect_contains(refusal_of(with_lists(byte_level("smollm"), {"<s>", "a", "\xff", "ab", "</s>"},
                                        {3, 1, 1, 1, 3})),
                  "UTF-8");
  expect_contains(refusal_of(with_lists(byte_level("smollm"), {"<s>", "a", "b", "ab", "</s>"},
                                        {3, 1, 1, 1, 9})),
                  "1 to 6");
}

// "<unk>", "<s>", "</s>" and these tokens.
GgufBuilder sentencepiece(const std::vector<std::string>& more, const std::vector<float>& scores) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  tokens.insert(tokens.end(), more.begin(), more.end());
  std::vector<int32_t> types = {2, 3, 3};
  types.resize(tokens.size(), 1);
  std::vector<float> all_scores(3, 0);
  all_scores.insert(all_scores.end(), scores.begin(), scores.end());
  GgufBuilder gguf;
  gguf.text("general.architecture", "llama")
      .text("tokenizer.ggml.model", "llama")
      .texts("tokenizer.ggml.tokens", tokens)
      .i32s("tokenizer.ggml.token_type", types)
      .f32s("tokenizer.ggml.scores", all_scores)
      .u32("tokenizer.ggml.bos_token_id", 1)
      .u32("tokenizer.ggml.eos_token_id", 2)
      .u32("tokenizer.ggml.unknown_token_id", 0);
  return gguf;
}

TEST(GgufTokenizer, sentencepiece_scores_become_merges_best_first) {
  const TokenizerFiles files =
      tokenizer_of(sentencepiece({"a", "b", "ab", "aba"}, {-3, -4, -2, -1}));
  EXPECT_EQ(files.tokenizer["model"]["merges"], (nlohmann::json{"ab a", "a b"}));
  EXPECT_EQ(files.tokenizer["model"]["unk_token"], "<unk>");
  EXPECT_EQ(files.tokenizer["model"]["byte_fallback"], true);
  EXPECT_EQ(files.tokenizer["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
  EXPECT_EQ(files.tokenizer_config["add_bos_token"], true);
}

TEST(GgufTokenizer, sentencepiece_tokens_and_scores_are_bounded) {
  // Looked at in every cut, this token would take hours.
  expect_contains(refusal_of(sentencepiece({"a", std::string(16 << 20, 'a')}, {-1, -2})),
                  "a token of 16777216 bytes");
  for (const float score :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    expect_contains(refusal_of(sentencepiece({"a", "aa"}, {-1, score})), "not finite");
  // Every token is every shorter one and a rest: megabytes of merges from a kilobyte of tokens.
  std::vector<std::string> tokens;
  for (size_t length = 1; length <= 1024; ++length) tokens.emplace_back(length, 'a');
  expect_contains(refusal_of(sentencepiece(tokens, std::vector<float>(tokens.size(), -1))),
                  "in more ways");
}

TEST(GgufTokenizer, real_vocabularies_are_read_whole) {
  const std::string folder = std::string(CAIRN_SOURCE_DIR) + "/../shared/data/tokenizers/";
  if (!std::filesystem::exists(folder + "gpt-2.gguf"))
    GTEST_SKIP() << folder << " is absent: real vocabularies are not read";
  const TokenizerFiles gpt2 = read_tokenizer(folder + "gpt-2.gguf");
  EXPECT_EQ(gpt2.tokenizer["model"]["vocab"].size(), 50257u);
  EXPECT_EQ(gpt2.tokenizer["model"]["merges"].size(), 50000u);
  const TokenizerFiles spm = read_tokenizer(folder + "llama-spm.gguf");
  EXPECT_EQ(spm.tokenizer["model"]["vocab"].size(), 32000u);
  const nlohmann::json config = read_config(folder + "llama-spm.gguf");
  EXPECT_EQ(config["hidden_size"], 4096);
  EXPECT_EQ(config["vocab_size"], 32000);
  message_of<UserError>([&] { read_config(folder + "gpt-2.gguf"); }, "gpt-2.gguf");
}

}  // namespace
}  // namespace cairn::test
