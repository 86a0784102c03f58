// Tokenised data: from the names of data sets to the examples of a run. Each data set becomes one
// token store; choosing, mixing and splitting only order places in them. Text is streamed, and what
// was tokenised before is read from the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/chat_template.h"
#include "data/dataset.h"
#include "data/example_set.h"
#include "data/token_cache.h"

namespace cairn {

struct DataOptions {
  std::vector<std::string> names = {};       // entries of dataset_info.json, or files
  std::vector<std::string> eval_names = {};  // empty: none
  std::filesystem::path dataset_dir = "data";
  FindFile find_file = {};  // of names that are files; absent: as given, or below dataset_dir
  std::optional<int64_t> max_samples = std::nullopt;  // of each data set, before any shuffle
  double val_size = 0;
  MixStrategy mix = MixStrategy::concat;
  std::vector<double> interleave_probs = {};
  uint64_t seed = 42;         // of the split and the mixing
  uint64_t choice_seed = 42;  // of an entry's num_samples
  RowUse use = RowUse::conversation;
  EncodeOptions encode = {};
  // Documents joined end to end and cut into blocks of cutoff_len, so many rows at a time.
  bool joins_documents = true;
  int64_t rows_at_a_time = 1000;
  bool reads_cache = true;
};

struct TokenizedData {
  ExampleSet train, validation;
  std::vector<DatasetCounts> counts;  // one a data set, in the order named
  int64_t truncated = 0;              // of the examples, cut at cutoff_len
  int64_t without_label = 0;          // rows dropped: nothing in them would train
  std::vector<std::string> notes;     // of dataset_info.json, one sentence each
};

// Throws UserError for names, entries and columns that cannot be, and when no example is left;
// DamagedFile with file, line and column for text that is broken. `tokenizer_key` tells tokenizers
// apart.
TokenizedData tokenize_data(const DataOptions& options, const ChatTemplate& chat_template,
                            const Tokenizer& tokenizer, const std::string& tokenizer_key);

// The ids and labels of a text of its own, its end of text behind it and with `begins` the
// beginning of text before it where the tokenizer adds that.
Example encode_document(std::string_view text, const ChatTemplate& chat_template,
                        const Tokenizer& tokenizer, bool begins);

// Writes the examples to a folder of their own, and reads them from there again, whatever the other
// options say. Throws UserError for a folder of another kind, DamagedFile for ids and labels that
// a vocabulary of that size lacks.
void save_tokenized(const TokenizedData& data, const std::string& folder,
                    const std::string& tokenizer_key);
bool has_tokenized(const std::string& folder);
TokenizedData load_tokenized(const std::string& folder, const std::string& tokenizer_key,
                             int64_t vocab_size);

}  // namespace cairn
