// What Cairn throws to a program that embeds it. The text is one sentence: what was wrong, what was
// expected, what to do. Cairn never prints, exits or aborts.
#pragma once

#include <stdexcept>
#include <string>

namespace cairn {

enum class ErrorKind {
  wrong_input,     // the recipe or what it names
  does_not_fit,    // the memory budget
  damaged_file,    // a file is not what it should be
  peer_failed,     // another rank or the network
  device_refused,  // the machine: disk full, no memory for the process itself, not a finite number
  own_fault        // of Cairn's own; please report it
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace cairn
