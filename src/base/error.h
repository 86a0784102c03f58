// The errors that Cairn throws. Each is one clear sentence: what was wrong, what was expected, what
// to do. Only apps/ maps an error to an exit code; the library never prints, exits or aborts.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace cairn {

// The user's input is wrong (exit code 2).
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file is not what it should be (exit code 4). The text names the file.
struct DamagedFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The machine or its device refused (exit code 1).
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A loss, a gradient or a logit is not a finite number (exit code 1).
struct NotFinite : DeviceError {
  using DeviceError::DeviceError;
};

// A peer or the network failed (exit code 5).
struct CommError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A programmer's mistake, found by CAIRN_CHECK (exit code 1).
struct CheckFailed : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace cairn

// CAIRN_CHECK(condition, "[op] wanted {}, got {}", wanted, got): for programmers' mistakes, always
// on.
#define CAIRN_CHECK(condition, ...)                                         \
  do {                                                                      \
    if (!(condition)) throw ::cairn::CheckFailed(fmt::format(__VA_ARGS__)); \
  } while (false)
