// The program's standard streams: what a person reads goes to stderr and may be lost, what was
// asked for goes to stdout and may not.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace cairn::program {

// Call before any file is opened. A stream that the caller closed is held by one that refuses every
// write, so that no file of a run takes its number; and a write that fails is answered by its error
// in place of a signal that ends the program.
void guard_streams();

// To stderr, made readable: what is told may quote a file. A terminal that is gone costs no run:
// what cannot be written is dropped.
void tell(std::string_view text);
template <typename... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  tell(std::string_view(fmt::vformat(format, fmt::make_format_args(args...))));
}

// Whether all that was printed to stdout arrived there; if not, tells so.
bool deliver_stdout();

}  // namespace cairn::program
