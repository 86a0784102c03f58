// What a process may take, read from files as Linux writes them.
#include "memory/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cairn {
namespace {

namespace fs = std::filesystem;

class MachineFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("cairn_machine_" + std::to_string(getpid()));
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  MachineMemory read() const { return read_machine_memory(root_.string()); }

  fs::path root_;
};

TEST_F(MachineFiles, without_control_groups_the_machine_is_the_limit) {
  EXPECT_EQ(read().available_bytes, 1000 * 1024);
  EXPECT_FALSE(read().cgroup_limit_bytes);
}

TEST_F(MachineFiles, the_tightest_group_above_a_process_counts_without_what_can_be_dropped) {
  write("proc/self/cgroup", "0::/user/run\n");
  write("sys/fs/cgroup/user/memory.max", "5000\n");
  write("sys/fs/cgroup/user/memory.current", "4500\n");
  write("sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 500\n");
  write("sys/fs/cgroup/user/run/memory.max", "max\n");
  write("sys/fs/cgroup/user/run/memory.current", "100\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 5000);
  EXPECT_EQ(read().cgroup_used_bytes, 4000);
}

// Above memory.high a process is slowed down until it seems to stand.
TEST_F(MachineFiles, the_limit_that_slows_down_is_a_limit_too) {
  write("proc/self/cgroup", "0::/run\n");
  write("sys/fs/cgroup/run/memory.max", "max\n");
  write("sys/fs/cgroup/run/memory.high", "3000\n");
  write("sys/fs/cgroup/run/memory.current", "100\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 3000);
  write("sys/fs/cgroup/run/memory.max", "2000\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 2000);
}

TEST_F(MachineFiles, version_1_has_other_names_and_a_number_for_no_limit) {
  write("proc/self/cgroup", "5:cpu,memory:/job\n4:pids:/other\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "7000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "600\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 100\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 7000);
  EXPECT_EQ(read().cgroup_used_bytes, 500);
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(read().cgroup_limit_bytes);
}

}  // namespace
}  // namespace cairn
