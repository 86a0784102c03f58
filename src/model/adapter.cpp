#include "model/adapter.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/folder_entries.h"
#include "files/json_file.h"
#include "files/safetensors.h"
#include "files/sharded.h"

namespace cairn {
namespace {

void refuse(const nlohmann::json& config, const std::string& path, const char* key,
            const nlohmann::json& usual) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null() || *found == usual || found->empty()) return;
  throw UserError(
      fmt::format("{}: '{}' is {}, which this version does not compute", path, key, found->dump()));
}

// Starts of a pair that take the pair's product out of the base weights: the pair belongs to those.
void refuse_changed_base(const nlohmann::json& config, const std::string& path) {
  const auto start = config.find("init_lora_weights");
  if (start == config.end() || !start->is_string() || *start == "gaussian" || *start == "eva" ||
      *start == "orthogonal")
    return;
  throw UserError(
      fmt::format("{}: 'init_lora_weights' is {}, which changes the weights of the base model; "
                  "convert the adapter to one of the model as it was published",
                  path, start->dump()));
}

std::vector<std::string> read_names(const nlohmann::json& config, const std::string& path,
                                    const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return {};
  std::vector<std::string> names;
  for (const auto& name : *found)
    if (found->is_array() && name.is_string()) names.push_back(name.get<std::string>());
  if (names.size() != found->size() || !found->is_array())
    throw DamagedFile(fmt::format("{}: '{}' must be a list of module names", path, key));
  return names;
}

double read_dropout(const nlohmann::json& config, const std::string& path) {
  const auto found = config.find("lora_dropout");
  if (found == config.end() || found->is_null()) return 0;
  if (!found->is_number() || found->get<double>() < 0 ||
      !(found->get<double>() <= kMostLoraDropout))
    throw DamagedFile(
        fmt::format("{}: 'lora_dropout' must be a number of at least 0 and at most {}", path,
                    kMostLoraDropout));
  return found->get<double>();
}

bool read_switch(const nlohmann::json& config, const std::string& path, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return false;
  if (!found->is_boolean())
    throw DamagedFile(fmt::format("{}: '{}' must be true or false", path, key));
  return found->get<bool>();
}

}  // namespace

nlohmann::json make_adapter_config(const LoraSpec& lora, const std::string& base_model) {
  std::vector<std::string> targets = lora.targets;
  std::sort(targets.begin(), targets.end());
  const nlohmann::json beside =
      lora.modules_to_save.empty() ? nlohmann::json() : nlohmann::json(lora.modules_to_save);
  return {{"alpha_pattern", nlohmann::json::object()},
          {"auto_mapping", nullptr},
          {"base_model_name_or_path", base_model},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"inference_mode", true},
          {"init_lora_weights", true},
          {"layers_pattern", nullptr},
          {"layers_to_transform", nullptr},
          {"lora_alpha", lora.alpha},
          {"lora_dropout", lora.dropout},
          {"modules_to_save", beside},
          {"peft_type", "LORA"},
          {"r", lora.rank},
          {"rank_pattern", nlohmann::json::object()},
          {"revision", nullptr},
          {"target_modules", targets},
          {"task_type", "CAUSAL_LM"},
          {"use_dora", false},
          {"use_rslora", lora.rank_stabilized}};
}

LoraSpec read_adapter_config(const std::string& folder) {
  const std::string path = folder + "/adapter_config.json";
  if (!is_there(path))
    throw UserError(fmt::format(
        "'{}' holds no adapter_config.json; give the folder that a LoRA run wrote", folder));
  const nlohmann::json config = read_json_object(path);
  const auto type = config.find("peft_type");
  if (type == config.end() || *type != "LORA")
    throw UserError(
        fmt::format("{}: 'peft_type' is not LORA; this version reads LoRA adapters", path));
  refuse(config, path, "use_dora", false);
  refuse(config, path, "fan_in_fan_out", false);
  refuse(config, path, "rank_pattern", nlohmann::json::object());
  refuse(config, path, "alpha_pattern", nlohmann::json::object());
  refuse(config, path, "layers_to_transform", nullptr);
  refuse(config, path, "ensure_weight_tying", false);
  refuse(config, path, "bias", "none");
  refuse(config, path, "lora_bias", false);
  refuse_changed_base(config, path);

  LoraSpec lora;
  if (!config.contains("r") || !config["r"].is_number_integer() || config["r"].get<int64_t>() < 1 ||
      config["r"].get<int64_t>() > kMostLoraRank)
    throw DamagedFile(fmt::format("{}: 'r' must be a whole number of at least 1 and at most {}",
                                  path, kMostLoraRank));
  lora.rank = config["r"].get<int64_t>();
  const auto alpha = config.find("lora_alpha");
  if (alpha == config.end() || !alpha->is_number() || !(alpha->get<double>() > 0) ||
      alpha->get<double>() > std::numeric_limits<float>::max())
    throw DamagedFile(fmt::format("{}: 'lora_alpha' must be a number above 0", path));
  lora.alpha = alpha->get<double>();
  lora.dropout = read_dropout(config, path);
  lora.modules_to_save = read_names(config, path, "modules_to_save");
  lora.rank_stabilized = read_switch(config, path, "use_rslora");
  const auto targets = config.find("target_modules");
  if (targets != config.end() && targets->is_array()) {
    lora.targets = read_names(config, path, "target_modules");
  } else if (targets == config.end() || *targets != "all-linear") {
    throw UserError(
        fmt::format("{}: 'target_modules' must be a list of module names or 'all-linear'", path));
  }
  return lora;
}

std::unique_ptr<TensorSource> open_adapter_weights(const std::string& folder) {
  const std::string path = folder + "/adapter_model.safetensors";
  if (!is_there(path))
    throw UserError(fmt::format(
        "'{}' holds no adapter_model.safetensors{}", folder,
        is_there(folder + "/adapter_model.bin")
            ? "; its adapter_model.bin is a pickle, which Cairn does not read: save it again with "
              "safe_serialization"
            : "; give the folder that a LoRA run wrote, with all of its files"));
  auto source = std::make_unique<SafetensorsFile>(path);
  if (source->tensors().empty())
    throw DamagedFile(fmt::format(
        "{} holds no tensors: an adapter that was saved wrongly; train it again", path));
  require_readable_types(*source);
  return source;
}

}  // namespace cairn
