#include "model/known_models.h"

#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

namespace cairn {
namespace {

using nlohmann::json;

struct Row {
  std::string_view family, name;
  int64_t hidden, intermediate, layers, heads, kv_heads, head_dim, vocab, max_position;
  double theta;
  bool tied;
  int64_t window = 0;
  int64_t query_scalar = 0;  // of Gemma
};

// From the config.json of each model as published. Of Gemma 3 above 1B, the language model.
constexpr std::array kRows = {
    Row{"llama", "llama-2-7b", 4096, 11008, 32, 32, 32, 128, 32000, 4096, 1e4, false},
    Row{"llama", "llama-2-13b", 5120, 13824, 40, 40, 40, 128, 32000, 4096, 1e4, false},
    Row{"llama", "llama-2-70b", 8192, 28672, 80, 64, 8, 128, 32000, 4096, 1e4, false},
    Row{"llama", "llama-3-8b", 4096, 14336, 32, 32, 8, 128, 128256, 8192, 5e5, false},
    Row{"llama", "llama-3-70b", 8192, 28672, 80, 64, 8, 128, 128256, 8192, 5e5, false},
    Row{"llama", "llama-3.1-8b", 4096, 14336, 32, 32, 8, 128, 128256, 131072, 5e5, false},
    Row{"llama", "llama-3.1-70b", 8192, 28672, 80, 64, 8, 128, 128256, 131072, 5e5, false},
    Row{"llama", "llama-3.3-70b", 8192, 28672, 80, 64, 8, 128, 128256, 131072, 5e5, false},
    Row{"llama", "llama-3.2-1b", 2048, 8192, 16, 32, 8, 64, 128256, 131072, 5e5, true},
    Row{"llama", "llama-3.2-3b", 3072, 8192, 28, 24, 8, 128, 128256, 131072, 5e5, true},
    Row{"llama", "tinyllama-1.1b", 2048, 5632, 22, 32, 4, 64, 32000, 2048, 1e4, false},
    Row{"llama", "smollm2-135m", 576, 1536, 30, 9, 3, 64, 49152, 8192, 1e5, true},
    Row{"llama", "smollm2-360m", 960, 2560, 32, 15, 5, 64, 49152, 8192, 1e5, true},
    Row{"llama", "smollm2-1.7b", 2048, 8192, 24, 32, 32, 64, 49152, 8192, 1.3e5, true},
    Row{"mistral", "mistral-7b-v0.1", 4096, 14336, 32, 32, 8, 128, 32000, 32768, 1e4, false, 4096},
    Row{"mistral", "mistral-7b-v0.2", 4096, 14336, 32, 32, 8, 128, 32000, 32768, 1e6, false},
    Row{"mistral", "mistral-7b-v0.3", 4096, 14336, 32, 32, 8, 128, 32768, 32768, 1e6, false},
    Row{"mistral", "mistral-nemo", 5120, 14336, 40, 32, 8, 128, 131072, 131072, 1e6, false},
    Row{"mistral", "mistral-small-24b", 5120, 32768, 40, 32, 8, 128, 131072, 32768, 1e8, false},
    Row{"qwen2", "qwen2-0.5b", 896, 4864, 24, 14, 2, 64, 151936, 131072, 1e6, true},
    Row{"qwen2", "qwen2-1.5b", 1536, 8960, 28, 12, 2, 128, 151936, 131072, 1e6, true},
    Row{"qwen2", "qwen2-7b", 3584, 18944, 28, 28, 4, 128, 152064, 131072, 1e6, false},
    Row{"qwen2", "qwen2-72b", 8192, 29568, 80, 64, 8, 128, 152064, 131072, 1e6, false},
    Row{"qwen2", "qwen2.5-0.5b", 896, 4864, 24, 14, 2, 64, 151936, 32768, 1e6, true},
    Row{"qwen2", "qwen2.5-1.5b", 1536, 8960, 28, 12, 2, 128, 151936, 32768, 1e6, true},
    Row{"qwen2", "qwen2.5-3b", 2048, 11008, 36, 16, 2, 128, 151936, 32768, 1e6, true},
    Row{"qwen2", "qwen2.5-7b", 3584, 18944, 28, 28, 4, 128, 152064, 32768, 1e6, false},
    Row{"qwen2", "qwen2.5-14b", 5120, 13824, 48, 40, 8, 128, 152064, 32768, 1e6, false},
    Row{"qwen2", "qwen2.5-32b", 5120, 27648, 64, 40, 8, 128, 152064, 32768, 1e6, false},
    Row{"qwen2", "qwen2.5-72b", 8192, 29568, 80, 64, 8, 128, 152064, 32768, 1e6, false},
    Row{"qwen3", "qwen3-0.6b", 1024, 3072, 28, 16, 8, 128, 151936, 40960, 1e6, true},
    Row{"qwen3", "qwen3-1.7b", 2048, 6144, 28, 16, 8, 128, 151936, 40960, 1e6, true},
    Row{"qwen3", "qwen3-4b", 2560, 9728, 36, 32, 8, 128, 151936, 40960, 1e6, true},
    Row{"qwen3", "qwen3-4b-2507", 2560, 9728, 36, 32, 8, 128, 151936, 262144, 5e6, true},
    Row{"qwen3", "qwen3-8b", 4096, 12288, 36, 32, 8, 128, 151936, 40960, 1e6, false},
    Row{"qwen3", "qwen3-14b", 5120, 17408, 40, 40, 8, 128, 151936, 40960, 1e6, false},
    Row{"qwen3", "qwen3-32b", 5120, 25600, 64, 64, 8, 128, 151936, 40960, 1e6, false},
    Row{"gemma2", "gemma-2-2b", 2304, 9216, 26, 8, 4, 256, 256000, 8192, 1e4, true, 4096, 256},
    Row{"gemma2", "gemma-2-9b", 3584, 14336, 42, 16, 8, 256, 256000, 8192, 1e4, true, 4096, 256},
    Row{"gemma2", "gemma-2-27b", 4608, 36864, 46, 32, 16, 128, 256000, 8192, 1e4, true, 4096, 144},
    Row{"gemma3_text", "gemma-3-270m", 640, 2048, 18, 4, 1, 256, 262144, 32768, 1e6, true, 512,
        256},
    Row{"gemma3_text", "gemma-3-1b", 1152, 6912, 26, 4, 1, 256, 262144, 32768, 1e6, true, 512, 256},
    Row{"gemma3_text", "gemma-3-4b", 2560, 10240, 34, 8, 4, 256, 262208, 131072, 1e6, true, 1024,
        256},
    Row{"gemma3_text", "gemma-3-12b", 3840, 15360, 48, 16, 8, 256, 262208, 131072, 1e6, true, 1024,
        256},
    Row{"gemma3_text", "gemma-3-27b", 5376, 21504, 62, 32, 16, 128, 262208, 131072, 1e6, true, 1024,
        168},
    Row{"phi3", "phi-3-mini-4k", 3072, 8192, 32, 32, 32, 96, 32064, 4096, 1e4, false, 2047},
    Row{"phi3", "phi-3-mini-128k", 3072, 8192, 32, 32, 32, 96, 32064, 131072, 1e4, false, 262144},
    Row{"phi3", "phi-3.5-mini", 3072, 8192, 32, 32, 32, 96, 32064, 131072, 1e4, false, 262144},
    Row{"phi3", "phi-3-medium-4k", 5120, 17920, 40, 40, 10, 128, 32064, 4096, 1e4, false, 2047},
    Row{"phi3", "phi-4", 5120, 17920, 40, 40, 10, 128, 100352, 16384, 2.5e5, false},
    Row{"phi3", "phi-4-mini", 3072, 8192, 32, 24, 8, 128, 200064, 131072, 1e4, true, 262144},
};

json llama3_scaling(double factor) {
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", 1},
          {"high_freq_factor", 4},
          {"original_max_position_embeddings", 8192}};
}

// The divisors stand in the model's files; they move no byte of a plan.
json longrope_scaling(int64_t pairs) {
  const std::vector<double> ones(static_cast<size_t>(pairs), 1.0);
  return {{"rope_type", "longrope"},
          {"short_factor", ones},
          {"long_factor", ones},
          {"original_max_position_embeddings", 4096}};
}

void add_scaling(const Row& row, json& config) {
  if (row.name.starts_with("llama-3.1") || row.name.starts_with("llama-3.3"))
    config["rope_scaling"] = llama3_scaling(8);
  if (row.name.starts_with("llama-3.2")) config["rope_scaling"] = llama3_scaling(32);
  if (row.family == "gemma3_text" && row.max_position == 131072)
    config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  if (row.name == "phi-4-mini") config["partial_rotary_factor"] = 0.75;
  if (row.family == "phi3" && row.max_position == 131072)
    config["rope_scaling"] = longrope_scaling(row.name == "phi-4-mini" ? 48 : row.head_dim / 2);
}

json config_json(const Row& row) {
  const bool coarse = row.family == "llama" || row.family == "mistral" || row.family == "phi3";
  json config = {{"model_type", row.family},
                 {"hidden_size", row.hidden},
                 {"intermediate_size", row.intermediate},
                 {"num_hidden_layers", row.layers},
                 {"num_attention_heads", row.heads},
                 {"num_key_value_heads", row.kv_heads},
                 {"head_dim", row.head_dim},
                 {"vocab_size", row.vocab},
                 {"max_position_embeddings", row.max_position},
                 {"rms_norm_eps", coarse ? 1e-5 : 1e-6},
                 {"rope_theta", row.theta},
                 {"sliding_window", row.window > 0 ? json(row.window) : json()},
                 {"tie_word_embeddings", row.tied}};
  if (row.query_scalar > 0) config["query_pre_attn_scalar"] = row.query_scalar;
  add_scaling(row, config);
  return config;
}

// "meta-llama/Llama-2-7b-chat-hf" becomes "llama-2-7b".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (char c : name.substr(name.rfind('/') + 1))
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (plain.starts_with("meta-")) plain = plain.substr(5);
  for (const char* word : {"-hf", "-chat", "-instruct", "-intermediate", "-base", "-v1.0",
                           "-thinking", "-coder", "-2407", "-2501"})
    if (const size_t at = plain.find(word); at != std::string::npos)
      plain.erase(at, std::string_view(word).size());
  for (const char* end : {"-it", "-pt"})
    if (plain.ends_with(end)) plain.resize(plain.size() - 3);
  return plain;
}

}  // namespace

std::optional<ModelConfig> find_known_model(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const Row& row : kRows)
    if (row.name == plain) return parse_model_config(config_json(row));
  return std::nullopt;
}

std::vector<std::string> known_model_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

}  // namespace cairn
