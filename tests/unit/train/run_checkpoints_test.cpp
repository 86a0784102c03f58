// A step that was saved is saved, whatever becomes of the checkpoints that it replaces.
#include "train/run_checkpoints.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "files/checkpoint_folder.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

TEST(RunCheckpoints, one_that_cannot_be_removed_is_a_remark_and_no_end_of_the_run) {
  const fs::path folder =
      fs::temp_directory_path() / ("cairn_run_checkpoints_" + std::to_string(getpid()));
  fs::create_directories(folder);
  PreparedRun run;
  run.recipe.output.output_dir = folder.string();
  // Nobody renames what the kernel shows there, not even root.
  const std::string held = "/proc/self/fdinfo";
  if (!fs::exists(held)) GTEST_SKIP() << held << " is absent: nothing is held";
  run.outdated_checkpoints = {held};
  std::vector<std::string> remarks;
  RunCheckpoints checkpoints(run, [&](const std::string& remark) { remarks.push_back(remark); });
  const auto write = [](const std::string& path) { std::ofstream(path + "/weights") << "bits"; };
  EXPECT_EQ(checkpoints.save(3, true, write), checkpoint_path(folder.string(), 3));
  EXPECT_EQ(checkpoints.latest_step(), 3);
  EXPECT_NO_THROW(check_checkpoint(checkpoints.latest()));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find(held), std::string::npos) << remarks[0];
  // Said once: the next save has nothing left to remove.
  checkpoints.save(4, true, write);
  EXPECT_EQ(remarks.size(), 1u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace cairn
