// Pictures that a command writes.
#pragma once

#include <string>

namespace cairn::program {

// `svg` as the file `path`, in the place of another picture at most. Throws UserError where
// something else is.
void write_picture(const std::string& path, const std::string& svg);

}  // namespace cairn::program
