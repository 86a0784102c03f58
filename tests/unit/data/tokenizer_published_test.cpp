// Published vocabularies against ids that the Hugging Face library gave. Needs ../shared; a clone
// without it says so and passes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/tokenizer.h"
#include "files/model_files.h"

namespace cairn {
namespace {

const std::filesystem::path kShared = CAIRN_SOURCE_DIR "/../shared/data/tokenizers";

class TokenizerPublished : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kShared)) GTEST_SKIP() << kShared << " is absent";
  }
};

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The texts of NAME.gguf.inp against the ids of NAME.gguf.out, one line a text.
void expect_every_vector(const std::string& name, int64_t vocabulary) {
  const TokenizerFiles files = read_tokenizer((kShared / (name + ".gguf")).string());
  const Tokenizer tokenizer = Tokenizer::from_json(files.tokenizer, files.tokenizer_config);
  EXPECT_EQ(tokenizer.vocab_size(), vocabulary);

  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string texts = contents(kShared / (name + ".gguf.inp"));
  std::istringstream lines(contents(kShared / (name + ".gguf.out")));
  std::string line;
  size_t begin = 0, count = 0;
  while (std::getline(lines, line)) {
    std::istringstream numbers(line);
    std::vector<int32_t> expected;
    for (int32_t id; numbers >> id;) expected.push_back(id);
    const size_t end = texts.find(separator, begin);
    ASSERT_NE(end, std::string::npos);
    const std::string text = texts.substr(begin, end - begin);
    EXPECT_EQ(tokenizer.encode(text), expected) << "text " << count << ": " << text;
    EXPECT_EQ(tokenizer.decode(expected, false), text);
    begin = end + separator.size();
    ++count;
  }
  EXPECT_EQ(count, 46u);
  EXPECT_EQ(begin, texts.size()) << "no text is left over";
}

TEST_F(TokenizerPublished, gpt2_agrees_on_every_vector) { expect_every_vector("gpt-2", 50257); }

TEST_F(TokenizerPublished, sentencepiece_with_bytes_agrees_on_every_vector) {
  expect_every_vector("llama-spm", 32000);
}

TEST_F(TokenizerPublished, the_tiny_vocabulary_spells_and_reads_back) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      nlohmann::json::parse(contents(kShared / "tiny_bpe_tokenizer.json")), nullptr);
  EXPECT_EQ(tokenizer.vocab_size(), 2003);
  const std::string text = "The quick brown fox, it's 42!<|im_end|>";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text), false), text);
  EXPECT_EQ(tokenizer.encode("<|im_end|>"), std::vector<int32_t>{2002});
}

}  // namespace
}  // namespace cairn
