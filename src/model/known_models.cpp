#include "model/known_models.h"

#include <array>
#include <cctype>

namespace cairn {
namespace {

struct Row {
  std::string_view name;
  int64_t hidden, intermediate, layers, heads, kv_heads, head_dim, vocab, max_position;
  float epsilon;
  double theta;
  double llama3_factor;  // 0: no scaling
  bool tied;
};

// From the config.json of each model as published.
constexpr std::array kRows = {
    Row{"llama-2-7b", 4096, 11008, 32, 32, 32, 128, 32000, 4096, 1e-5f, 1e4, 0, false},
    Row{"llama-2-13b", 5120, 13824, 40, 40, 40, 128, 32000, 4096, 1e-5f, 1e4, 0, false},
    Row{"llama-2-70b", 8192, 28672, 80, 64, 8, 128, 32000, 4096, 1e-5f, 1e4, 0, false},
    Row{"llama-3-8b", 4096, 14336, 32, 32, 8, 128, 128256, 8192, 1e-5f, 5e5, 0, false},
    Row{"llama-3-70b", 8192, 28672, 80, 64, 8, 128, 128256, 8192, 1e-5f, 5e5, 0, false},
    Row{"llama-3.1-8b", 4096, 14336, 32, 32, 8, 128, 128256, 131072, 1e-5f, 5e5, 8, false},
    Row{"llama-3.1-70b", 8192, 28672, 80, 64, 8, 128, 128256, 131072, 1e-5f, 5e5, 8, false},
    Row{"llama-3.3-70b", 8192, 28672, 80, 64, 8, 128, 128256, 131072, 1e-5f, 5e5, 8, false},
    Row{"llama-3.2-1b", 2048, 8192, 16, 32, 8, 64, 128256, 131072, 1e-5f, 5e5, 32, true},
    Row{"llama-3.2-3b", 3072, 8192, 28, 24, 8, 128, 128256, 131072, 1e-5f, 5e5, 32, true},
    Row{"tinyllama-1.1b", 2048, 5632, 22, 32, 4, 64, 32000, 2048, 1e-5f, 1e4, 0, false},
    Row{"smollm2-135m", 576, 1536, 30, 9, 3, 64, 49152, 8192, 1e-5f, 1e5, 0, true},
    Row{"smollm2-360m", 960, 2560, 32, 15, 5, 64, 49152, 8192, 1e-5f, 1e5, 0, true},
    Row{"smollm2-1.7b", 2048, 8192, 24, 32, 32, 64, 49152, 8192, 1e-5f, 1.3e5, 0, true},
};

// "meta-llama/Llama-2-7b-chat-hf" becomes "llama-2-7b".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (char c : name.substr(name.rfind('/') + 1))
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (plain.starts_with("meta-")) plain = plain.substr(5);
  for (const char* word : {"-hf", "-chat", "-instruct", "-intermediate", "-base", "-v1.0"})
    if (const size_t at = plain.find(word); at != std::string::npos)
      plain.erase(at, std::string_view(word).size());
  return plain;
}

}  // namespace

std::optional<ModelConfig> find_known_model(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const Row& row : kRows) {
    if (row.name != plain) continue;
    ModelConfig config;
    config.hidden = row.hidden;
    config.intermediate = row.intermediate;
    config.num_layers = row.layers;
    config.num_heads = row.heads;
    config.num_kv_heads = row.kv_heads;
    config.head_dim = row.head_dim;
    config.vocab = row.vocab;
    config.max_position = row.max_position;
    config.rms_epsilon = row.epsilon;
    config.rope_theta = row.theta;
    config.tied_embeddings = row.tied;
    if (row.llama3_factor > 0) config.rope_scaling = RopeScaling{row.llama3_factor, 1, 4, 8192};
    return config;
  }
  return std::nullopt;
}

std::vector<std::string> known_model_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

}  // namespace cairn
