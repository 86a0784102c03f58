// Token stores: what goes in comes out, damage is known, and the cache reads what it wrote.
#include "data/token_store.h"

#include "data/token_cache.h"
#include "unit/data/data_folder.h"

namespace cairn::test {
namespace {

class TokenStoreTest : public DataFolder {
 protected:
  static Example example(int32_t length) {
    Example made;
    for (int32_t t = 0; t < length; ++t) {
      made.ids.push_back(100 * length + t);
      made.labels.push_back(t < length / 2 ? kIgnored : made.ids.back());
    }
    return made;
  }
  std::string write_store() const {
    const std::string path = (folder_ / "a.tokens").string();
    TokenStoreWriter writer(path);
    for (const int32_t length : {3, 1, 40, 2}) writer.append(example(length), length == 40);
    writer.finish({{"note", "x"}});
    return path;
  }
  std::string bytes_of(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(TokenStoreTest, examples_come_back_in_any_order) {
  const TokenStore store(write_store());
  ASSERT_EQ(store.size(), 4);
  EXPECT_EQ(store.read(2), example(40));
  EXPECT_EQ(store.read(0), example(3));
  EXPECT_EQ(store.read(3), example(2));
  EXPECT_EQ(store.at(2).tokens, 40u);
  EXPECT_EQ(store.at(2).trained_labels, 20u);
  EXPECT_EQ(store.at(2).truncated, 1u);
  EXPECT_EQ(store.at(1).truncated, 0u);
  EXPECT_EQ(store.about()["note"], "x");
}

TEST_F(TokenStoreTest, every_cut_and_every_changed_byte_is_damage) {
  const std::string whole = bytes_of(write_store());
  for (size_t length = 0; length < whole.size(); length += 7) {
    const std::string path = write("cut.tokens", whole.substr(0, length)).string();
    EXPECT_THROW(TokenStore store(path), DamagedFile) << length;
  }
  for (size_t at = 8; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    const std::string path = write("changed.tokens", changed).string();
    EXPECT_THROW(
        {
          const TokenStore store(path);
          for (int64_t i = 0; i < store.size(); ++i) store.read(i);
        },
        DamagedFile)
        << at;
  }
}

TEST_F(TokenStoreTest, the_cache_fills_a_key_once_and_again_after_damage) {
  const TokenCache cache(folder_ / "cache");
  int filled = 0;
  const auto fill = [&](TokenStoreWriter& writer) {
    ++filled;
    writer.append(example(5), false);
    writer.finish(nlohmann::json::object());
  };
  EXPECT_EQ(cache.open("k", fill)->read(0), example(5));
  EXPECT_EQ(cache.open("k", fill)->read(0), example(5));
  EXPECT_EQ(filled, 1);
  write("cache/k.tokens", "torn");
  EXPECT_EQ(cache.open("k", fill)->read(0), example(5));
  EXPECT_EQ(filled, 2);
  EXPECT_EQ(TokenCache(folder_ / "cache", false).open("k", fill)->size(), 1);
  EXPECT_EQ(filled, 3) << "told not to read";
}

TEST_F(TokenStoreTest, without_a_folder_a_store_has_no_name) {
  const TokenCache nowhere(write("file", "in the way") / "cache");
  const auto store = nowhere.open("nameless", [&](TokenStoreWriter& writer) {
    writer.append(example(5), false);
    writer.finish(nlohmann::json::object());
  });
  EXPECT_EQ(store->read(0), example(5));
  EXPECT_FALSE(std::filesystem::exists(store->path()));
}

TEST_F(TokenStoreTest, contents_are_told_apart) {
  const auto hash_of = [&](std::string_view contents) {
    ContentHash hash;
    add_contents(hash, write("f", contents));
    return hash.hex();
  };
  EXPECT_EQ(hash_of("abc"), hash_of("abc"));
  EXPECT_NE(hash_of("abc"), hash_of("abd"));
  EXPECT_NE(hash_of("abc"), hash_of(std::string_view("abc\0", 4)));
  EXPECT_NE(ContentHash().add("ab").add("c").hex(), ContentHash().add("a").add("bc").hex());
  EXPECT_EQ(hash_of("abc").size(), 32u);
}

}  // namespace
}  // namespace cairn::test
