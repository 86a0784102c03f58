// Writing what was trained: a PEFT adapter or a Hugging Face model folder. Tensors are streamed
// through a small scratch of the save phase; nothing appears under its final name before it is
// whole.
#pragma once

#include <string>

#include "files/model_files.h"
#include "model/model.h"
#include "model/peers.h"

namespace cairn {

// adapter_model.safetensors and adapter_config.json, with the names and keys that PEFT writes.
// `base_model` is the path recorded in the config. Null `folder`: rehearsal, or a rank that hands
// its parts to the one that writes.
void save_adapter(const Exec& exec, Model& model, const std::string* folder,
                  const std::string& base_model, Peers* peers = nullptr);

// Weights (bf16 if `storage` says so, else f32) and the JSON files of `base`. Null `folder`:
// as above.
void save_model(const Exec& exec, Model& model, const std::string* folder, const ModelFiles* base,
                DType storage, Peers* peers = nullptr);

}  // namespace cairn
