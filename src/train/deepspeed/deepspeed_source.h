// Where a DeepSpeed configuration comes from: the path of a file, JSON text, or JSON in base64, the
// three forms that accelerate takes.
#pragma once

#include <filesystem>
#include <string>

#include "train/recipe_source.h"

namespace cairn {

struct DeepspeedSource {
  std::string text;    // JSON
  std::string origin;  // names it in errors
};

// `given` is the value of the recipe's key. A path is tried like every other of a recipe. Throws
// UserError.
DeepspeedSource read_deepspeed_source(const std::string& given,
                                      const std::filesystem::path& recipe_folder);

// A mapping written into the recipe itself, as JSON text.
std::string json_text_of(const Given& mapping);

}  // namespace cairn
