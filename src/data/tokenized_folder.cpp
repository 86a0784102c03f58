// The folder that tokenized_path names: one token store for each part of the data.
#include <filesystem>

#include "base/error.h"
#include "data/tokenized_data.h"
#include "files/folder_entries.h"
#include "files/output_folder.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrain = "train.tokens";
constexpr const char* kValidation = "validation.tokens";

void write_part(const ExampleSet& examples, const fs::path& path, const nlohmann::json& about) {
  TokenStoreWriter writer(path.string());
  for (int64_t i = 0; i < examples.size(); ++i) writer.append(examples.read(i), false);
  writer.finish(about);
}

// Kernels index with ids and labels, and a capacity is made of the counts. A sum over the bytes
// keeps chance out, not another program.
void check_examples(const TokenStore& store, int64_t vocab_size) {
  for (int64_t i = 0; i < store.size(); ++i) {
    const Example example = store.read(i);
    const auto refuse = [&](const std::string& what) {
      throw DamagedFile(fmt::format("{}: example {} {}; delete the folder to have it made again",
                                    store.path(), i, what));
    };
    for (const int32_t id : example.ids)
      if (id < 0 || id >= vocab_size)
        refuse(fmt::format("holds the token id {}, which the tokenizer lacks", id));
    for (const int32_t label : example.labels)
      if (label != kIgnored && (label < 0 || label >= vocab_size))
        refuse(
            fmt::format("holds the label {}, which is neither {} nor a token id", label, kIgnored));
    if (example.trained_labels() != store.at(i).trained_labels)
      refuse(fmt::format("has {} labels that train, but its index says {}",
                         example.trained_labels(), uint32_t{store.at(i).trained_labels}));
  }
}

ExampleSet read_part(const fs::path& path, const std::string& tokenizer_key, int64_t vocab_size) {
  auto store = std::make_shared<const TokenStore>(path.string());
  if (!store->about().is_object() ||
      store->about().value("tokenizer", nlohmann::json()) != tokenizer_key)
    throw UserError(fmt::format(
        "{} was made with another tokenizer than the model's; give another tokenized_path, or "
        "delete the folder to have it made again",
        path.string()));
  check_examples(*store, vocab_size);
  std::vector<ExamplePlace> places;
  for (uint32_t i = 0; i < store->size(); ++i) places.push_back({0, i});
  return {{std::move(store)}, std::move(places)};
}

}  // namespace

void save_tokenized(const TokenizedData& data, const std::string& folder,
                    const std::string& tokenizer_key) {
  make_folder(folder);
  const nlohmann::json about = {{"tokenizer", tokenizer_key}};
  if (!data.validation.empty()) write_part(data.validation, fs::path(folder) / kValidation, about);
  write_part(data.train, fs::path(folder) / kTrain, about);
}

bool has_tokenized(const std::string& folder) {
  if (!is_there(folder)) return false;
  if (!is_folder(folder))
    throw UserError(fmt::format("tokenized_path {} is a file; give a folder", folder));
  if (is_there(fs::path(folder) / kTrain)) return true;
  // What another run is writing, or left unfinished, is not in the way.
  for (const fs::path& entry : folder_entries(folder)) {
    const std::string name = entry.filename().string();
    if (name.starts_with(kTrain) || name.starts_with(kValidation)) continue;
    throw UserError(fmt::format(
        "tokenized_path {} holds something else than Cairn's tokens, such as {} (files of the "
        "datasets library are not read); give another folder, and the data is tokenised into it",
        folder, name));
  }
  return false;
}

TokenizedData load_tokenized(const std::string& folder, const std::string& tokenizer_key,
                             int64_t vocab_size) {
  TokenizedData data;
  data.train = read_part(fs::path(folder) / kTrain, tokenizer_key, vocab_size);
  if (is_there(fs::path(folder) / kValidation))
    data.validation = read_part(fs::path(folder) / kValidation, tokenizer_key, vocab_size);
  return data;
}

}  // namespace cairn
