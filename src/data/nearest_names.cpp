// Edit distance by two rows of the table.
#include "data/nearest_names.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace cairn {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j)
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
    std::swap(above, row);
  }
  return above.back();
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known,
                                       size_t most) {
  const std::string wanted = lower(name);
  std::vector<std::pair<size_t, std::string>> ranked;
  ranked.reserve(known.size());
  for (const std::string& candidate : known)
    ranked.emplace_back(edit_distance(wanted, lower(candidate)), candidate);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(most, ranked.size()); ++i) nearest.push_back(ranked[i].second);
  return nearest;
}

}  // namespace cairn
