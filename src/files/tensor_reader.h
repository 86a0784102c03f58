// The one way from a file to a tensor in memory: pieces read into scratch and converted from there,
// by a few readers side by side; straight into the tensor when nothing is to be converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "files/input_file.h"
#include "files/tensor_source.h"
#include "memory/view.h"

namespace cairn {

// As TensorSource::read_rows, of a tensor that lies in `file`.
void read_tensor_rows(const InputFile& file, const TensorInfo& info, int64_t first_row,
                      int64_t row_count, View out, std::span<std::byte> scratch);

}  // namespace cairn
