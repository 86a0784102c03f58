#include "files/model_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"
#include "files/file_kind.h"
#include "files/folder_entries.h"
#include "files/gguf_model.h"
#include "files/gguf_split.h"
#include "files/input_file.h"
#include "files/json_file.h"
#include "files/sharded.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Real templates have at most some tens of KiB.
constexpr int64_t kMaxTemplateBytes = 4 * kMiB;

// "owner/name", as models of the Hugging Face hub are called.
bool is_hub_id(std::string_view path) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  const size_t slash = path.find('/');
  if (slash == path.npos || slash == 0 || slash + 1 == path.size()) return false;
  return kLetters.substr(0, 62).find(path[0]) != path.npos &&
         path.substr(0, slash).find_first_not_of(kLetters) == path.npos &&
         path.substr(slash + 1).find_first_not_of(kLetters) == path.npos;
}

void require_there(const std::string& path) {
  if (path.empty()) throw UserError("No model was given: a folder or a .gguf file was expected.");
  if (is_there(path)) return;
  if (is_hub_id(path) && !path.ends_with(".gguf"))
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
  if (is_there(fs::path(folder) / "config.json")) return std::nullopt;
  std::vector<std::string> found;
  for (const fs::path& entry : folder_entries(folder))
    if (entry.extension() == ".gguf") found.push_back(entry.string());
  if (const auto first = first_of_split(found)) return first;
  if (found.size() > 1)
    throw UserError(fmt::format("{} holds {} .gguf files: give the path of the one to use.", folder,
                                found.size()));
  if (found.empty()) return std::nullopt;
  return found.front();
}

json read_folder_config(const std::string& folder) {
  const fs::path path = fs::path(folder) / "config.json";
  if (!is_there(path))
    throw UserError(
        fmt::format("{} holds no config.json: a folder with config.json and "
                    "model.safetensors, or a .gguf file, was expected.",
                    folder));
  return read_json_object(path.string());
}

json read_if_there(const fs::path& path) {
  return is_there(path) ? read_json_object(path.string()) : json(nullptr);
}

// A token is written as its text, or as an object around it; null is none.
void flatten_special_tokens(json& config, const std::string& path) {
  for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    const auto found = config.find(name);
    if (found == config.end() || found->is_string()) continue;
    if (found->is_null()) {
      config.erase(found);
      continue;
    }
    const auto content = found->is_object() ? found->find("content") : found->end();
    if (content == found->end() || !content->is_string())
      throw DamagedFile(
          fmt::format("{} gives {} as a JSON {}, where the text of a token, or an object with its "
                      "`content`, was expected.",
                      path, name, found->type_name()));
    *found = json(*content);
  }
}

std::string read_template(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kMaxTemplateBytes)
    throw DamagedFile(fmt::format("{} has {}, where a chat template has at most {}.", path,
                                  format_bytes(file.size()), format_bytes(kMaxTemplateBytes)));
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  if (!is_valid_utf8(text))
    throw DamagedFile(
        fmt::format("{} holds bytes that are not UTF-8: download or write it again.", path));
  return text;
}

// Templates live in the config, or in a file of their own that newer writers prefer.
void add_chat_template(const fs::path& folder, json& config) {
  const fs::path own = folder / "chat_template.jinja";
  if (is_there(own)) {
    config["chat_template"] = read_template(own.string());
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
                         is_there(root / "chat_template.jinja");
  if (!described) return files;
  if (files.tokenizer_config.is_null()) files.tokenizer_config = json::object();
  flatten_special_tokens(files.tokenizer_config, (root / "tokenizer_config.json").string());
  if (special.is_object()) {
    flatten_special_tokens(special, (root / "special_tokens_map.json").string());
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
  require_there(path);
  if (is_folder(path)) {
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
  require_there(path);
  if (is_folder(path)) {
    if (const auto gguf = only_gguf_in(path)) return make_gguf_config(open_gguf_parts(*gguf));
    return read_folder_config(path);
  }
  if (looks_like_gguf(path)) return make_gguf_config(open_gguf_parts(path));
  if (!path.ends_with(".json") && refusal_of_kind(InputFile(path), WantedKind::json))
    throw UserError(
        fmt::format("{} is neither a config.json nor a .gguf file: give one of these, or the "
                    "folder with config.json and model.safetensors.",
                    path));
  return read_json_object(path);
}

TokenizerFiles read_tokenizer(const std::string& path) {
  require_there(path);
  if (is_folder(path)) {
    if (const auto gguf = only_gguf_in(path)) return make_gguf_tokenizer(GgufFile(*gguf));
    return read_folder_tokenizer(path);
  }
  if (looks_like_gguf(path)) return make_gguf_tokenizer(GgufFile(path));
  throw UserError(
      fmt::format("{} is a file: give a folder with tokenizer.json, or a .gguf file.", path));
}

}  // namespace cairn
