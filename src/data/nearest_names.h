// The known names closest to one that is not known, for an error that helps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Up to `most` names by edit distance, nearest first, case aside.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known,
                                       size_t most = 5);

}  // namespace cairn
