// Data sets: rows of files on disk, found through dataset_info.json as LLaMA-Factory does or named
// by path, turned into conversations and then into examples. Every record is accounted for: found =
// used - repeated + skipped, with a reason for each skipped one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/chat_template.h"
#include "data/conversation.h"
#include "data/example.h"
#include "data/tokenizer.h"

namespace cairn {

struct DatasetOptions {
  std::string names;  // comma list: entries of dataset_info.json, or .json / .jsonl files
  std::filesystem::path dataset_dir = "data";
  // The first N rows of each data set, before any shuffle.
  std::optional<int64_t> max_samples = std::nullopt;
  uint64_t seed = 42;  // of an entry's num_samples
};

// What became of the records of one data set.
struct DatasetCounts {
  std::string name;
  int64_t records = 0;         // found; reading stops at max_samples
  int64_t used = 0;            // rows handed on
  int64_t repeated = 0;        // of those, drawn again because num_samples exceeds the records
  int64_t blank_lines = 0;     // no records, skipped
  int64_t string_encoded = 0;  // records that were a JSON string holding the object
  std::map<std::string, int64_t> skipped;  // reason -> records
  int64_t skipped_total() const;
};

struct LoadedRows {
  std::vector<Conversation> rows;
  std::vector<DatasetCounts> counts;  // one a data set, in the order named
};

// Throws UserError for names, entries and columns that cannot be, DamagedFile with file, line and
// column for text that is not JSON. No usable row at all is a UserError.
LoadedRows load_rows(const DatasetOptions& options);

struct Split {
  std::vector<Conversation> train;
  std::vector<Conversation> validation;
};

// val_size below 1 is a fraction (rounded up), from 1 on a count; 0 leaves all for training.
// Seeded; both sides keep the order of the rows.
Split split_validation(std::vector<Conversation> rows, double val_size, uint64_t seed);

struct TokenizedRows {
  std::vector<Example> examples;
  int64_t rows = 0;           // in: examples + without_label
  int64_t without_label = 0;  // dropped: nothing in them would train
  int64_t truncated = 0;      // of the examples, cut at cutoff_len
};

// Throws UserError when no example is left.
TokenizedRows tokenize(const std::vector<Conversation>& rows, const ChatTemplate& chat_template,
                       const Tokenizer& tokenizer, const EncodeOptions& options);

}  // namespace cairn
