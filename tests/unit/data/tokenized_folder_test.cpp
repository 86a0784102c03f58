// A folder of tokens from elsewhere: what kernels index with is held to the vocabulary, and what a
// capacity is made of to the examples.
#include <cstring>

#include "base/content_hash.h"
#include "data/tokenized_data.h"
#include "unit/data/data_folder.h"

namespace cairn::test {
namespace {

constexpr int64_t kVocab = 10;

class TokenizedFolder : public DataFolder {
 protected:
  // train.tokens with this one example.
  std::string write_tokens(const Example& example, const char* tokenizer = "small") const {
    TokenStoreWriter writer((folder_ / "train.tokens").string());
    writer.append(example, false);
    writer.finish({{"tokenizer", tokenizer}});
    return folder_.string();
  }
  std::string damage_of(const Example& example) const {
    const std::string folder = write_tokens(example);
    return message_of<DamagedFile>([&] { load_tokenized(folder, "small", kVocab); });
  }
};

TEST_F(TokenizedFolder, ids_and_labels_are_held_to_the_vocabulary) {
  const std::string folder = write_tokens({.ids = {0, 9, 1}, .labels = {kIgnored, 9, 0}});
  EXPECT_EQ(load_tokenized(folder, "small", kVocab).train.size(), 1);
  for (const int32_t id : {10, -1, -100})
    expect_says(damage_of({.ids = {0, id}, .labels = {0, 1}}), fmt::format("token id {},", id));
  for (const int32_t label : {10, -1, -101, 1 << 30}) {
    expect_says(damage_of({.ids = {0, 1}, .labels = {0, label}}), fmt::format("label {},", label));
    // The first never trains; a kernel may read it all the same.
    expect_says(damage_of({.ids = {0, 1}, .labels = {label, 1}}), fmt::format("label {},", label));
  }
}

TEST_F(TokenizedFolder, the_index_counts_the_labels_that_train) {
  const std::string folder = write_tokens({.ids = {0, 1, 2}, .labels = {kIgnored, 1, 2}});
  const std::string path = folder + "/train.tokens";
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  // The index follows the word and three ids and labels, a count second in it; the sum over index
  // and JSON ends the file.
  constexpr size_t kIndex = 8 + 3 * 8, kIndexBytes = 16, kFooterBytes = 48;
  const uint32_t lie = 1;
  std::memcpy(bytes.data() + kIndex + 4, &lie, sizeof lie);
  const std::string_view index_and_json =
      std::string_view(bytes).substr(kIndex, bytes.size() - kFooterBytes - kIndex);
  const uint64_t sum = ContentHash()
                           .add(index_and_json.substr(0, kIndexBytes))
                           .add(index_and_json.substr(kIndexBytes))
                           .word();
  std::memcpy(bytes.data() + bytes.size() - sizeof sum, &sum, sizeof sum);
  write("train.tokens", bytes);
  expect_says(message_of<DamagedFile>([&] { load_tokenized(folder, "small", kVocab); }),
              "2 labels that train, but its index says 1");
}

TEST_F(TokenizedFolder, a_path_that_no_folder_can_have_is_the_users_mistake) {
  const std::string long_name = (folder_ / std::string(300, 'x')).string();
  EXPECT_THROW(has_tokenized(long_name), UserError);
  std::filesystem::create_symlink("itself", folder_ / "itself");
  EXPECT_THROW(has_tokenized((folder_ / "itself").string()), UserError);
  EXPECT_THROW(has_tokenized(write("file", "x").string()), UserError);
}

}  // namespace
}  // namespace cairn::test
