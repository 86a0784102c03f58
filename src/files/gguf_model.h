// What a GGUF file says about a model, in Hugging Face's words: config.json, tokenizer.json and
// tensors under transformers' names, in its row order.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "files/gguf.h"
#include "files/model_files.h"
#include "files/tensor_source.h"

namespace cairn {

// Throws UserError for an architecture that Cairn does not train. Works without tensors too.
nlohmann::json make_gguf_config(const GgufFile& gguf);
nlohmann::json make_gguf_generation_config(const GgufFile& gguf);

// Throws UserError for types that cannot be read (with counts) and tensors of no known name.
std::unique_ptr<TensorSource> make_gguf_weights(GgufFile gguf);

// Null members when the file has no vocabulary. Throws UserError for a kind of tokenizer that Cairn
// does not know, DamagedFile for lists that do not fit each other.
TokenizerFiles make_gguf_tokenizer(const GgufFile& gguf);

}  // namespace cairn
