// Shapes of well-known models, so that a plan needs no files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

namespace cairn {

// Accepts "llama-2-7b" and the hub's way of writing it ("meta-llama/Llama-2-7b-chat-hf").
std::optional<ModelConfig> find_known_model(std::string_view name);
std::vector<std::string> known_model_names();

}  // namespace cairn
