// Data sets: rows of files on disk, found through dataset_info.json as LLaMA-Factory does or named
// by path, and turned into conversations one by one. Every record is accounted for: found =
// used - repeated + skipped, with a reason for each skipped one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/conversation.h"
#include "data/dataset_info.h"
#include "data/mix_strategy.h"
#include "data/record_source.h"

namespace cairn {

// What became of the records of one data set.
struct DatasetCounts {
  std::string name;
  int64_t records = 0;         // found; reading stops at max_samples
  int64_t used = 0;            // rows handed on
  int64_t repeated = 0;        // of those, drawn again because num_samples exceeds the records
  int64_t blank_lines = 0;     // no records, skipped
  int64_t string_encoded = 0;  // records that were a JSON string holding the object
  std::map<std::string, int64_t> skipped = {};  // reason -> records
  int64_t skipped_total() const;

  bool operator==(const DatasetCounts&) const = default;
};

// The conversations of one data set, in memory bound by the largest record.
class RowReader {
 public:
  // Reads at most `most` records.
  RowReader(DatasetEntry entry, RowUse use, std::optional<int64_t> most);

  // The next row that can be used, or nothing at the end. Throws DamagedFile with file, line and
  // column for text that is not JSON.
  std::optional<Conversation> next();
  // Takes back the row that next() gave last: it is skipped for this reason.
  void skip(const std::string& reason);
  // Of what was read so far. Throws UserError when that is everything and no row can be used.
  DatasetCounts counts() const;

 private:
  bool open_next_file();
  // A reason beyond the first twenty is one of "other reasons".
  void count_skipped(const std::string& reason);

  DatasetEntry entry_;
  RowUse use_;
  std::optional<int64_t> most_;
  std::unique_ptr<RecordSource> source_;
  size_t next_file_ = 0;
  DatasetCounts counts_;
  std::string found_columns_;  // of the first record
};

// Which of `counts.used` rows are taken, in the order they come in: those of an entry's
// num_samples, a random choice drawn again with replacement where there are too few; else all; of
// these the first `max_samples`. Corrects the counts. `number` tells the data sets of a run apart.
std::vector<int64_t> chosen_rows(DatasetCounts& counts, std::optional<int64_t> num_samples,
                                 std::optional<int64_t> max_samples, uint64_t seed,
                                 uint64_t number);

struct SplitRows {
  std::vector<int64_t> train, validation;  // ascending
};

// Of `count` rows: val_size below 1 is a fraction (rounded up), from 1 on a count; 0 leaves all for
// training. Seeded; both sides keep the order of the rows.
SplitRows split_validation(int64_t count, double val_size, uint64_t seed);

struct MixedRow {
  uint32_t dataset;
  int64_t row;  // of those taken of it

  bool operator==(const MixedRow&) const = default;
};

// The order of the rows of several data sets of these sizes. Interleaved in turn, or each drawn
// with its share of `probabilities`, until one is through (under), all are, short ones repeated
// (over), or every row came once (once).
std::vector<MixedRow> mixed_rows(const std::vector<int64_t>& sizes, MixStrategy strategy,
                                 const std::vector<double>& probabilities, uint64_t seed);

}  // namespace cairn
