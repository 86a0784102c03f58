// Looking for the tensor that spoils a model: values that are no finite numbers, in its files.
#pragma once

#include <optional>
#include <string>

#include "files/tensor_source.h"

namespace cairn {

// The first tensor that holds NaN or an infinite value; nothing if all that can be read as numbers
// is finite. Reads the whole source, a few rows at a time.
std::optional<std::string> find_not_finite(const TensorSource& source);

}  // namespace cairn
