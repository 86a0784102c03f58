// A recipe's data: its keys as the data room's options, the tokens that come of them, and the
// batches of an evaluation.
#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"
#include "train/prepare.h"

namespace cairn {
namespace {

DataOptions data_options_of(const Recipe& recipe) {
  DataOptions options;
  options.names = recipe.data.dataset;
  options.eval_names = recipe.data.eval_dataset;
  options.dataset_dir = find_path(recipe.data.dataset_dir, recipe.folder);
  options.find_file = [folder = recipe.folder](const std::string& name) {
    return std::filesystem::path(find_path(name, folder));
  };
  options.max_samples = recipe.data.max_samples;
  options.val_size = recipe.data.val_size;
  options.mix = recipe.data.mix_strategy;
  options.interleave_probs = recipe.data.interleave_probs;
  options.seed = static_cast<uint64_t>(recipe.train.seed);
  options.choice_seed = static_cast<uint64_t>(recipe.train.data_seed);
  options.use = recipe.method.stage == Stage::pt ? RowUse::document : RowUse::conversation;
  options.encode = encode_options_of(recipe);
  options.joins_documents = recipe.data.packing;
  options.rows_at_a_time = recipe.data.preprocessing_batch_size;
  options.reads_cache = !recipe.data.overwrite_cache;
  return options;
}

// Tells tokenizers apart. What a chat template in the file says is not a part of the tokens.
std::string key_of(TokenizerFiles files) {
  if (files.tokenizer_config.is_object()) files.tokenizer_config.erase("chat_template");
  return ContentHash().add(files.tokenizer.dump()).add(files.tokenizer_config.dump()).hex();
}

}  // namespace

EncodeOptions encode_options_of(const Recipe& recipe) {
  const DataRecipe& data = recipe.data;
  EncodeOptions options;
  options.cutoff_len = data.cutoff_len;
  options.train_on_prompt = data.train_on_prompt;
  options.mask_history = data.mask_history;
  if (!data.default_system.empty()) options.words.default_system = data.default_system;
  options.words.enable_thinking = data.enable_thinking;
  options.words.preserve_thinking = data.preserve_thinking;
  options.words.tool_format = data.tool_format;
  return options;
}

TokenizedData prepare_data(const Recipe& recipe, const ChatTemplate& chat_template,
                           const Tokenizer& tokenizer, const TokenizerFiles& files) {
  const std::string key = key_of(files), folder = recipe.data.tokenized_path;
  if (!folder.empty() && has_tokenized(folder)) {
    TokenizedData data = load_tokenized(folder, key, tokenizer.vocab_size());
    data.notes.push_back(fmt::format(
        "tokenized_path {} holds tokens already: they are used, whatever the other keys of the "
        "data say",
        folder));
    return data;
  }
  TokenizedData data = tokenize_data(data_options_of(recipe), chat_template, tokenizer, key);
  if (!folder.empty()) save_tokenized(data, folder, key);
  return data;
}

int64_t count_eval_batches(const ExampleSet& examples, int64_t batch_size, World world) {
  return ceil_div(examples.size(), batch_size * world.size);
}

Batch make_eval_batch(const ExampleSet& examples, int64_t batch_size, int64_t index, World world) {
  const int64_t begin = (index * world.size + world.rank) * batch_size;
  MicroBatch indices;
  for (int64_t i = begin; i < std::min(examples.size(), begin + batch_size); ++i)
    indices.push_back(i);
  return make_batch(examples, indices);
}

}  // namespace cairn
