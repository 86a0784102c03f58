// The page file: what was written comes back, moves run in order, and trouble is one sentence.
#include "files/page_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"

namespace cairn::test {
namespace {

// Pages aligned as direct I/O wants them.
class Pages {
 public:
  explicit Pages(size_t count)
      : memory_(
            static_cast<std::byte*>(std::aligned_alloc(kPageAlignment, count * kPageAlignment))),
        bytes_(count * kPageAlignment) {}
  Pages& fill(int value) {
    std::fill_n(memory_.get(), bytes_, static_cast<std::byte>(value));
    return *this;
  }
  bool holds(int value) const {
    return std::all_of(memory_.get(), memory_.get() + bytes_,
                       [value](std::byte byte) { return byte == static_cast<std::byte>(value); });
  }
  std::byte* data() const { return memory_.get(); }
  int64_t bytes() const { return static_cast<int64_t>(bytes_); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  size_t bytes_;
};

std::string folder() { return std::filesystem::temp_directory_path().string(); }

TEST(PageFile, what_was_written_comes_back) {
  PageFile file(folder());
  Pages a(3), b(3), back(3);
  file.reserve(a.bytes() + b.bytes());
  file.start_write(0, a.fill(1).data(), a.bytes());
  file.wait(file.start_write(a.bytes(), b.fill(2).data(), b.bytes()));
  file.wait(file.start_read(a.bytes(), back.data(), back.bytes()));
  EXPECT_TRUE(back.holds(2));
  file.wait(file.start_read(0, back.data(), back.bytes()));
  EXPECT_TRUE(back.holds(1));
}

TEST(PageFile, a_read_that_follows_a_write_sees_it_without_a_wait_between) {
  PageFile file(folder());
  Pages out(64), back(64);
  file.reserve(out.bytes());
  for (int round = 0; round < 20; ++round) {
    file.start_write(0, out.fill(round).data(), out.bytes());
    file.wait(file.start_read(0, back.data(), back.bytes()));
    EXPECT_TRUE(back.holds(round));
  }
}

TEST(PageFile, moves_that_are_not_aligned_are_a_programmers_mistake) {
  PageFile file(folder());
  Pages page(1);
  EXPECT_THROW(file.start_write(1, page.data(), page.bytes()), CheckFailed);
  EXPECT_THROW(file.start_write(0, page.data(), 100), CheckFailed);
  EXPECT_THROW(file.start_read(0, page.data() + 64, page.bytes()), CheckFailed);
}

TEST(PageFile, a_read_past_the_end_fails_with_one_sentence) {
  PageFile file(folder());
  Pages page(1);
  file.reserve(page.bytes());
  try {
    file.wait(file.start_read(8 * kPageAlignment, page.data(), page.bytes()));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("page_dir"), std::string::npos) << error.what();
  }
}

TEST(PageFile, a_folder_that_cannot_hold_one_is_named) {
  EXPECT_THROW(PageFile("/proc/no-such-folder"), UserError);
}

TEST(PageFile, more_than_the_disk_has_is_refused_before_anything_is_moved) {
  PageFile file(folder());
  EXPECT_THROW(file.reserve(int64_t{1} << 60), DeviceError);
}

}  // namespace
}  // namespace cairn::test
