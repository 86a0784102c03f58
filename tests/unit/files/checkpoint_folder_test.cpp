// A checkpoint folder is whole or not there, and says which of its files was touched.
#include "files/checkpoint_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/error.h"
#include "files/atomic_file.h"
#include "files/checksum.h"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

class CheckpointFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("cairn_checkpoints_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string dir() const { return folder_.string(); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string make(int64_t step, const std::string& text) const {
    CheckpointFolder folder(dir(), step);
    write_text(folder.path() + "/states", text);
    write_text(folder.path() + "/model", std::string(1000, 'm'));
    folder.commit();
    return folder.final_path();
  }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  static std::string damage_of(const std::string& path) {
    try {
      check_checkpoint(path);
    } catch (const DamagedFile& error) {
      return error.what();
    }
    return "";
  }
  std::vector<int64_t> steps() const {
    std::vector<int64_t> all;
    for (const CheckpointPath& checkpoint : list_checkpoints(dir())) all.push_back(checkpoint.step);
    return all;
  }

  fs::path folder_;
};

TEST(Checksum, is_the_one_that_xxhash_publishes) {
  // XXH3 in 64 bits with seed 0, of nothing, from the sanity test of its repository.
  EXPECT_EQ(checksum_of(""), "2d06800538d394c2");
  Checksum in_parts;
  in_parts.add("ab");
  in_parts.add("c");
  EXPECT_EQ(in_parts.text(), checksum_of("abc"));
  EXPECT_NE(checksum_of("abc"), checksum_of("abd"));
}

TEST_F(CheckpointFolders, one_appears_whole_at_its_commit) {
  {
    CheckpointFolder folder(dir(), 7);
    write_text(folder.path() + "/states", "bits");
    EXPECT_TRUE(steps().empty());
    EXPECT_FALSE(fs::exists(at("checkpoint-7")));
    folder.commit();
  }
  EXPECT_EQ(steps(), std::vector<int64_t>{7});
  EXPECT_EQ(check_checkpoint(at("checkpoint-7")), std::vector<std::string>{"states"});
  EXPECT_FALSE(fs::exists(at("checkpoint-7.partial")));
}

TEST_F(CheckpointFolders, one_without_commit_leaves_nothing) {
  make(7, "old");
  {
    CheckpointFolder folder(dir(), 7);
    write_text(folder.path() + "/states", "new");
  }
  EXPECT_EQ(text_of(at("checkpoint-7/states")), "old");
  EXPECT_FALSE(fs::exists(at("checkpoint-7.partial")));
}

TEST_F(CheckpointFolders, one_takes_the_place_of_another_of_its_name) {
  make(7, "old");
  write_text(at("checkpoint-7/mine"), "a file that the new one has not");
  make(7, "new");
  EXPECT_EQ(text_of(at("checkpoint-7/states")), "new");
  EXPECT_FALSE(fs::exists(at("checkpoint-7/mine")));
  EXPECT_EQ(damage_of(at("checkpoint-7")), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir()), {}), 1);
}

TEST_F(CheckpointFolders, the_file_that_was_touched_is_named) {
  const auto truncate = [](const std::string& path) {
    fs::resize_file(path, fs::file_size(path) / 2);
  };
  const auto flip = [](const std::string& path) {
    std::string text = text_of(path);
    text[text.size() / 2] ^= 1;
    std::ofstream(path, std::ios::binary) << text;
  };
  const auto remove = [](const std::string& path) { fs::remove(path); };
  const std::function<void(const std::string&)> damages[] = {truncate, flip, remove};
  for (const std::string name : {"states", "model", "checkpoint.json"})
    for (size_t i = 0; i < std::size(damages); ++i) {
      if (i == 2 && name == kManifest)
        continue;  // then it is no checkpoint, which is told otherwise
      const std::string path = make(3, "some bits of a state");
      damages[i](path + "/" + name);
      EXPECT_NE(damage_of(path).find("checkpoint-3/" + name), std::string::npos)
          << name << " by damage " << i << ": " << damage_of(path);
    }
}

TEST_F(CheckpointFolders, a_folder_without_manifest_is_no_checkpoint) {
  fs::create_directories(at("checkpoint-5"));
  EXPECT_THROW(check_checkpoint(at("checkpoint-5")), UserError);
  EXPECT_TRUE(steps().empty());
  const std::vector<CheckpointPath> foreign = list_foreign_checkpoints(dir());
  ASSERT_EQ(foreign.size(), 1u);
  EXPECT_EQ(foreign[0].step, 5);
  EXPECT_EQ(foreign[0].path, at("checkpoint-5"));
  EXPECT_THROW(CheckpointFolder(dir(), 5), UserError) << "and is never replaced";
}

TEST_F(CheckpointFolders, the_oldest_go_first_and_the_newest_never) {
  for (const int64_t step : {2, 10, 9, 100}) make(step, "bits");
  keep_latest_checkpoints(dir(), 2, 9);
  EXPECT_EQ(steps(), (std::vector<int64_t>{9, 100})) << "by number, not by name";
  keep_latest_checkpoints(dir(), 1, 9);
  EXPECT_EQ(steps(), std::vector<int64_t>{9});
  keep_latest_checkpoints(dir(), 1, 9);
  EXPECT_EQ(steps(), std::vector<int64_t>{9});
}

TEST_F(CheckpointFolders, what_a_killed_run_left_goes_and_nothing_else_does) {
  make(4, "bits");
  make(6, "bits");
  fs::rename(at("checkpoint-6"), at("checkpoint-6.replaced"));  // killed between the two renames
  fs::create_directories(at("checkpoint-4.replaced"));
  fs::create_directories(at("checkpoint-8.partial/deep"));
  const std::vector<std::string> theirs = {"notes.partial", "mine.partial-12-0",
                                           "checkpoint-x.partial",
                                           "adapter_model.safetensors.partial-x-0"};
  for (const std::string& name : theirs) write_text(at(name), "theirs");
  write_text(at("adapter_model.safetensors.partial-123-0"), "half");
  write_text(at("model-00001-of-00002.safetensors.partial-9-1"), "half");
  EXPECT_EQ(remove_leftovers(dir()),
            (std::vector<std::string>{"adapter_model.safetensors.partial-123-0",
                                      "checkpoint-4.replaced", "checkpoint-8.partial",
                                      "model-00001-of-00002.safetensors.partial-9-1"}));
  EXPECT_EQ(steps(), (std::vector<int64_t>{4, 6})) << "the replaced one is the last whole one";
  for (const std::string& name : theirs) EXPECT_EQ(text_of(at(name)), "theirs");
}

TEST_F(CheckpointFolders, a_file_of_its_name_is_refused) {
  write_text(at("checkpoint-3"), "a file");
  EXPECT_THROW(CheckpointFolder(dir(), 3), UserError);
  EXPECT_EQ(text_of(at("checkpoint-3")), "a file");
}

}  // namespace
}  // namespace cairn::test
