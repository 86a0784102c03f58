#include "numeric/dynamic_map.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace cairn {
namespace {

constexpr int kDecades = 7;

// The positive values below 1: in each decade the middles of 2^i (signed) or 2^(i + 1) equal parts
// of [0.1, 1], rounded to f32 once.
std::vector<float> positive_values(bool is_signed) {
  std::vector<float> values;
  for (int decade = 0; decade < kDecades; ++decade) {
    const int parts = 1 << (is_signed ? decade : decade + 1);
    const double scale = std::pow(10.0, decade + 1 - kDecades);
    for (int part = 0; part < parts; ++part)
      values.push_back(static_cast<float>(scale * (0.1 + 0.9 * (part + 0.5) / parts)));
  }
  return values;
}

DynamicMap make_map(bool is_signed) {
  std::vector<float> values = {0.0f, 1.0f};
  for (float value : positive_values(is_signed)) {
    values.push_back(value);
    if (is_signed) values.push_back(-value);
  }
  DynamicMap map;
  CAIRN_CHECK(values.size() == map.size(), "[dynamic map] wanted 256 values, got {}",
              values.size());
  std::sort(values.begin(), values.end());
  std::copy(values.begin(), values.end(), map.begin());
  return map;
}

// The least f32 that is nearer to `upper` than to `lower`, or as near where `upper` has the even
// code. The middle is taken in f32, as the kernels of bitsandbytes take it.
float border(float lower, float upper, bool upper_is_even) {
  const float middle = (lower + upper) * 0.5f;
  return upper_is_even ? middle : std::nextafter(middle, 2.0f);
}

}  // namespace

DynamicRanks::DynamicRanks(const DynamicMap& map) {
  const auto zero = static_cast<size_t>(std::find(map.begin(), map.end(), 0.0f) - map.begin());
  std::array<uint32_t, kCells> borders{};  // of each cell: how many, for the check
  std::array<uint32_t, kCells> low{}, ranks{};
  for (size_t code = zero + 1; code < map.size(); ++code) {
    const auto bits = std::bit_cast<uint32_t>(border(map[code - 1], map[code], code % 2 == 0));
    const uint32_t cell = (bits >> 16) - kFirstCell;
    CAIRN_CHECK(bits >> 16 >= kFirstCell && cell < kCells && borders[cell]++ == 0,
                "[dynamic map] wanted one border in a cell, got another at code {}", code);
    low[cell] = bits & 0xffffu;
    ranks[cell] = static_cast<uint32_t>(code - zero) - 1;
  }
  uint32_t rank = 0;
  for (size_t cell = 0; cell < kCells; ++cell) {
    // Without a border the comparison with 0 always adds the 1 that is taken off here.
    cells_[cell] = borders[cell] ? ranks[cell] << 16 | low[cell] : (rank - 1) << 16;
    if (borders[cell]) rank = ranks[cell] + 1;
  }
}

const DynamicMap& signed_dynamic_map() {
  static const DynamicMap map = make_map(true);
  return map;
}

const DynamicMap& unsigned_dynamic_map() {
  static const DynamicMap map = make_map(false);
  return map;
}

const DynamicRanks& signed_dynamic_ranks() {
  static const DynamicRanks ranks(signed_dynamic_map());
  return ranks;
}

const DynamicRanks& unsigned_dynamic_ranks() {
  static const DynamicRanks ranks(unsigned_dynamic_map());
  return ranks;
}

}  // namespace cairn
