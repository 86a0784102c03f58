// A folder of small data files that goes away with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cairn::test {

class DataFolder : public ::testing::Test {
 protected:
  DataFolder() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("cairn_{}_{}_{}", getpid(), info->test_suite_name(), info->name());
    std::filesystem::create_directories(folder_);
  }
  ~DataFolder() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, std::string_view contents) const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  std::filesystem::path folder_;
};

// The text of the Error that `action` throws; fails the test when it throws none.
template <class Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_says(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

}  // namespace cairn::test
