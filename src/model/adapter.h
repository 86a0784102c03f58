// adapter_config.json: what PEFT writes about a low-rank adapter, and reads back.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "files/tensor_source.h"
#include "model/model.h"

namespace cairn {

nlohmann::json make_adapter_config(const LoraSpec& lora, const std::string& base_model);

// Rank, alpha and targets of the adapter in `folder`. Throws UserError when there is none or when
// it is of a kind this version does not compute, DamagedFile when the file is broken.
LoraSpec read_adapter_config(const std::string& folder);

// Its weights, in numbers that Cairn reads. Throws as read_adapter_config does.
std::unique_ptr<TensorSource> open_adapter_weights(const std::string& folder);

}  // namespace cairn
