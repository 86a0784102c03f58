#include "files/model_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <utility>

#include "base/error.h"
#include "files/gguf_model.h"
#include "files/gguf_split.h"
#include "files/json_file.h"
#include "files/sharded.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse_missing(const std::string& path) {
  if (path.empty()) throw UserError("No model was given: a folder or a .gguf file was expected.");
  static const std::regex hub_id("[A-Za-z0-9][\\w.-]*/[\\w.-]+");
  if (std::regex_match(path, hub_id) && !path.ends_with(".gguf"))
    throw UserError(
        fmt::format("{} is not a folder here; it looks like a model of the Hugging Face hub, "
                    "which must be downloaded first: give the folder it was saved to.",
                    path));
  throw UserError(
      fmt::format("{} does not exist: a folder with config.json and model.safetensors, or a "
                  ".gguf file, was expected.",
                  path));
}

// The .gguf of a folder that holds one, or the parts of one, and no config.json.
std::optional<std::string> only_gguf_in(const std::string& folder) {
  if (fs::exists(fs::path(folder) / "config.json")) return std::nullopt;
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".gguf") found.push_back(entry.path().string());
  if (const auto first = first_of_split(found)) return first;
  if (found.size() > 1)
    throw UserError(fmt::format("{} holds {} .gguf files: give the path of the one to use.", folder,
                                found.size()));
  if (found.empty()) return std::nullopt;
  return found.front();
}

json read_folder_config(const std::string& folder) {
  const fs::path path = fs::path(folder) / "config.json";
  if (!fs::exists(path))
    throw UserError(
        fmt::format("{} holds no config.json: a folder with config.json and "
                    "model.safetensors, or a .gguf file, was expected.",
                    folder));
  return read_json_object(path.string());
}

json read_if_there(const fs::path& path) {
  return fs::exists(path) ? read_json_object(path.string()) : json(nullptr);
}

// A token is written as its text, or as an object around it.
void flatten_special_tokens(json& config) {
  for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    const auto found = config.find(name);
    if (found == config.end()) continue;
    if (found->is_object() && found->contains("content") && (*found)["content"].is_string())
      *found = json((*found)["content"]);
    else if (!found->is_string())
      config.erase(found);
  }
}

// Templates live in the config, or in a file of their own that newer writers prefer.
void add_chat_template(const fs::path& folder, json& config) {
  const fs::path own = folder / "chat_template.jinja";
  if (fs::exists(own)) {
    require_regular_file(own.string());
    std::ifstream stream(own, std::ios::binary);
    config["chat_template"] = std::string(std::istreambuf_iterator<char>(stream), {});
  } else if (!config.contains("chat_template")) {
    const json other = read_if_there(folder / "chat_template.json");
    if (other.is_object() && other.contains("chat_template"))
      config["chat_template"] = other["chat_template"];
  }
}

TokenizerFiles read_folder_tokenizer(const std::string& folder) {
  const fs::path root(folder);
  TokenizerFiles files;
  files.tokenizer = read_if_there(root / "tokenizer.json");
  files.tokenizer_config = read_if_there(root / "tokenizer_config.json");
  json special = read_if_there(root / "special_tokens_map.json");
  const bool described = files.tokenizer_config.is_object() || special.is_object() ||
                         fs::exists(root / "chat_template.jinja");
  if (!described) return files;
  if (files.tokenizer_config.is_null()) files.tokenizer_config = json::object();
  flatten_special_tokens(files.tokenizer_config);
  if (special.is_object()) {
    flatten_special_tokens(special);
    for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"})
      if (special.contains(name) && !files.tokenizer_config.contains(name))
        files.tokenizer_config[name] = special[name];
  }
  add_chat_template(root, files.tokenizer_config);
  return files;
}

// 4-bit weights of bitsandbytes are read as they are.
void refuse_quantized(const json& config, const std::string& path) {
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object()) return;
  const json method = found->value("quant_method", json("an unknown method"));
  const auto in_8_bits = found->find("load_in_8bit");
  if (method == "bitsandbytes" && (in_8_bits == found->end() || *in_8_bits != true)) return;
  throw UserError(
      fmt::format("{} holds weights quantized by {}: Cairn reads those of bitsandbytes in 4 "
                  "bits; else it starts from weights in F32, F16 or BF16 (or a GGUF) and "
                  "quantizes them itself.",
                  path, method.is_string() ? method.get<std::string>() : method.dump()));
}

ModelFiles open_gguf(const std::string& path) {
  GgufFile gguf = open_gguf_parts(path);
  ModelFiles model;
  model.config = make_gguf_config(gguf);
  model.generation_config = make_gguf_generation_config(gguf);
  TokenizerFiles tokenizer = make_gguf_tokenizer(gguf);
  model.tokenizer = std::move(tokenizer.tokenizer);
  model.tokenizer_config = std::move(tokenizer.tokenizer_config);
  model.weights = make_gguf_weights(std::move(gguf));
  model.path = path;
  return model;
}

ModelFiles open_folder(const std::string& path) {
  ModelFiles model;
  model.config = read_folder_config(path);
  refuse_quantized(model.config, path);
  TokenizerFiles tokenizer = read_folder_tokenizer(path);
  model.tokenizer = std::move(tokenizer.tokenizer);
  model.tokenizer_config = std::move(tokenizer.tokenizer_config);
  model.generation_config = read_if_there(fs::path(path) / "generation_config.json");
  model.weights = open_folder_weights(path);
  model.path = path;
  return model;
}

bool looks_like_gguf(const std::string& path) { return path.ends_with(".gguf") || is_gguf(path); }

}  // namespace

ModelFiles open_model(const std::string& path) {
  if (path.empty() || !fs::exists(path)) refuse_missing(path);
  if (fs::is_directory(path)) {
    if (const auto gguf = only_gguf_in(path)) return open_gguf(*gguf);
    return open_folder(path);
  }
  if (looks_like_gguf(path)) return open_gguf(path);
  throw UserError(
      fmt::format("{} is a file: give the folder with config.json and model.safetensors, or a "
                  ".gguf file.",
                  path));
}

json read_config(const std::string& path) {
  if (path.empty() || !fs::exists(path)) refuse_missing(path);
  if (fs::is_directory(path)) {
    if (const auto gguf = only_gguf_in(path)) return make_gguf_config(open_gguf_parts(*gguf));
    return read_folder_config(path);
  }
  if (looks_like_gguf(path)) return make_gguf_config(open_gguf_parts(path));
  return read_json_object(path);
}

TokenizerFiles read_tokenizer(const std::string& path) {
  if (path.empty() || !fs::exists(path)) refuse_missing(path);
  if (fs::is_directory(path)) {
    if (const auto gguf = only_gguf_in(path)) return make_gguf_tokenizer(GgufFile(*gguf));
    return read_folder_tokenizer(path);
  }
  if (looks_like_gguf(path)) return make_gguf_tokenizer(GgufFile(path));
  throw UserError(
      fmt::format("{} is a file: give a folder with tokenizer.json, or a .gguf file.", path));
}

}  // namespace cairn
