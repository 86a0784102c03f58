#include "model/finite_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cairn {
namespace {

constexpr int64_t kPieceElements = 16 * 1024;

bool is_finite(const TensorSource& source, const TensorInfo& info, std::vector<float>& values,
               std::span<std::byte> scratch) {
  const int64_t row = std::max<int64_t>(1, info.shape.row_elements());
  const int64_t rows = std::max<int64_t>(1, kPieceElements / row);
  for (int64_t first = 0; first < info.rows(); first += rows) {
    const int64_t count = std::min(rows, info.rows() - first);
    values.resize(static_cast<size_t>(count * row));
    source.read_rows(info, first, count,
                     View(reinterpret_cast<std::byte*>(values.data()), DType::f32, {count * row}),
                     scratch);
    if (!std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); }))
      return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> find_not_finite(const TensorSource& source) {
  std::vector<float> values;
  std::vector<std::byte> scratch(16 * kLeastReadScratchBytes);
  for (const TensorInfo& info : source.tensors())
    if (is_readable(info.type) && !is_finite(source, info, values, scratch)) return info.name;
  return std::nullopt;
}

}  // namespace cairn
