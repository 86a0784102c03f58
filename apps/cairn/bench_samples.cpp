#include "bench_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/tokenized_data.h"
#include "files/folder_entries.h"
#include "files/model_files.h"

namespace cairn::program {

std::vector<Example> read_examples(const BenchOptions& options) {
  if (options.data.empty())
    throw UserError("bench packing needs --data FILE.json, the samples to pack");
  if (!is_there(options.model))
    throw UserError(
        "bench packing counts tokens with the model's own tokenizer; give --model FOLDER or "
        "FILE.gguf");
  const TokenizerFiles files = read_tokenizer(options.model);
  DataOptions data;
  data.names = {options.data};
  data.encode.cutoff_len = options.sequence;
  const std::string key =
      ContentHash().add(files.tokenizer.dump()).add(files.tokenizer_config.dump()).hex();
  const ExampleSet read =
      tokenize_data(data, ChatTemplate::named(options.chat_template),
                    Tokenizer::from_json(files.tokenizer, files.tokenizer_config), key)
          .train;
  std::vector<Example> examples;
  for (int64_t i = 0; i < read.size(); ++i) examples.push_back(read.read(i));
  return examples;
}

int64_t count_tokens(const std::vector<Example>& examples) {
  int64_t tokens = 0;
  for (const Example& example : examples) tokens += example.tokens();
  return tokens;
}

std::vector<Example> stretched_to_mean(const std::vector<Example>& examples, double mean,
                                       int64_t most) {
  const double factor =
      mean * static_cast<double>(examples.size()) / static_cast<double>(count_tokens(examples));
  std::vector<Example> longer;
  for (const Example& example : examples) {
    const auto wanted = static_cast<int64_t>(factor * static_cast<double>(example.tokens()) + 0.5);
    const int64_t tokens = std::clamp<int64_t>(wanted, 2, most);
    Example& stretched = longer.emplace_back();
    for (int64_t t = 0; t < tokens; ++t) {
      const auto from = static_cast<size_t>(t * example.tokens() / tokens);
      stretched.ids.push_back(example.ids[from]);
      stretched.labels.push_back(example.labels[from]);
    }
  }
  return longer;
}

}  // namespace cairn::program
