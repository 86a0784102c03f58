// A model as it lies on disk: a Hugging Face folder or a GGUF file, told in one form. What a GGUF
// says in its own words is given as the config.json and tokenizer.json that transformers would
// have.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "files/tensor_source.h"

namespace cairn {

struct ModelFiles {
  std::string path;                  // as given: a folder or a .gguf
  nlohmann::json config;             // config.json
  nlohmann::json tokenizer;          // tokenizer.json; null if absent
  nlohmann::json tokenizer_config;   // tokenizer_config.json: chat_template, bos_token, eos_token,
                                     // pad_token (strings or absent), add_bos_token; null if absent
  nlohmann::json generation_config;  // null if absent
  std::unique_ptr<TensorSource> weights;
};

// Opens and checks everything but the weights' bytes. Throws UserError when the path is no local
// model (what was expected, what to do) or holds what Cairn cannot train; DamagedFile when it is
// broken.
ModelFiles open_model(const std::string& path);

// config.json alone, without weights: of a folder, a config.json, or a GGUF.
nlohmann::json read_config(const std::string& path);

// What a tokenizer needs, without weights: of a folder, or a GGUF, also one that holds a vocabulary
// only. Members as in ModelFiles.
struct TokenizerFiles {
  nlohmann::json tokenizer;
  nlohmann::json tokenizer_config;
};
TokenizerFiles read_tokenizer(const std::string& path);

}  // namespace cairn
