// Loading, choosing, splitting and tokenising rows, with every record accounted for.
#include "data/dataset.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/random.h"
#include "data/dataset_info.h"
#include "data/record_reader.h"
#include "data/row_format.h"

namespace cairn {
namespace {

// Streams of the run's seed are told apart by what they are for.
constexpr uint64_t kChoiceStream = uint64_t{0x63686f696365} << 16;  // "choice", then the data set
constexpr uint64_t kRepeatStream = uint64_t{0x726570656174} << 16;  // "repeat", then the data set
constexpr uint64_t kSplitStream = uint64_t{0x73706c6974} << 24;     // "split"

struct Loaded {
  std::vector<Conversation> rows;
  DatasetCounts counts;
};

// The names of the columns of a record that fits no mapping, to show what the file holds.
std::string columns_of(const nlohmann::json& record) {
  std::vector<std::string> names;
  for (const auto& [key, value] : record.items()) names.push_back("`" + key + "`");
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

FormattedRow formatted(const nlohmann::json& record, const DatasetEntry& entry) {
  if (const auto* columns = std::get_if<AlpacaColumns>(&entry.columns))
    return alpaca_row(record, *columns);
  return messages_row(record, std::get<MessageColumns>(entry.columns));
}

Loaded read_entry(const DatasetEntry& entry, std::optional<int64_t> most) {
  Loaded loaded;
  DatasetCounts& counts = loaded.counts;
  counts.name = entry.name;
  std::string found_columns;
  for (const auto& file : entry.files) {
    RecordReader reader(file);
    while (!most || counts.records < *most) {
      const auto record = reader.next();
      if (!record) break;
      if (++counts.records == 1) found_columns = columns_of(record->value);
      counts.string_encoded += record->string_encoded;
      FormattedRow row = formatted(record->value, entry);
      if (row.skipped.empty()) {
        row.conversation.origin.record = counts.records;
        loaded.rows.push_back(std::move(row.conversation));
        ++counts.used;
      } else {
        ++counts.skipped[row.skipped];
      }
    }
    counts.blank_lines += reader.blank_lines();
  }
  if (counts.records == 0)
    throw UserError(fmt::format("the data set \"{}\" ({}) holds no record", entry.name,
                                entry.files.front().string()));
  if (counts.used == 0)
    throw UserError(
        fmt::format("none of the {} records of the data set \"{}\" can be used (such as: {}); "
                    "they have the "
                    "columns {}: map them with `columns` in dataset_info.json",
                    counts.records, entry.name, counts.skipped.begin()->first, found_columns));
  return loaded;
}

// num_samples: a random choice in random order, drawn again with replacement where there are too
// few.
void choose_rows(Loaded& loaded, int64_t wanted, uint64_t seed, uint64_t dataset) {
  const auto count = static_cast<int64_t>(loaded.rows.size());
  std::vector<int64_t> chosen = random_permutation(count, seed, kChoiceStream + dataset);
  const Random random(seed, kRepeatStream + dataset);
  if (wanted < count) {
    chosen.resize(static_cast<size_t>(wanted));
    loaded.counts.skipped["left out by num_samples"] += count - wanted;
  }
  for (int64_t i = count; i < wanted; ++i)
    chosen.push_back(
        static_cast<int64_t>(random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(count))));
  loaded.counts.repeated = std::max(wanted - count, int64_t{0});
  loaded.counts.used = wanted;
  std::vector<Conversation> rows;
  rows.reserve(chosen.size());
  for (const int64_t i : chosen) rows.push_back(loaded.rows[static_cast<size_t>(i)]);
  loaded.rows = std::move(rows);
}

void keep_first(Loaded& loaded, int64_t most) {
  DatasetCounts& counts = loaded.counts;
  if (counts.used <= most) return;
  // Repeats stand at the end, so they go first.
  const int64_t dropped = counts.used - most;
  const int64_t repeats = std::min(dropped, counts.repeated);
  counts.repeated -= repeats;
  if (dropped > repeats) counts.skipped["beyond max_samples"] += dropped - repeats;
  counts.used = most;
  loaded.rows.resize(static_cast<size_t>(most));
}

}  // namespace

int64_t DatasetCounts::skipped_total() const {
  return std::accumulate(skipped.begin(), skipped.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

LoadedRows load_rows(const DatasetOptions& options) {
  if (options.max_samples && *options.max_samples < 1)
    throw UserError(fmt::format("max_samples should be at least 1, got {}", *options.max_samples));
  LoadedRows all;
  uint64_t number = 0;
  for (const DatasetEntry& entry : find_datasets(options.names, options.dataset_dir)) {
    Loaded loaded = read_entry(entry, entry.num_samples ? std::nullopt : options.max_samples);
    if (entry.num_samples) choose_rows(loaded, *entry.num_samples, options.seed, number);
    if (options.max_samples) keep_first(loaded, *options.max_samples);
    for (Conversation& row : loaded.rows) row.origin.dataset = static_cast<int32_t>(number);
    std::move(loaded.rows.begin(), loaded.rows.end(), std::back_inserter(all.rows));
    all.counts.push_back(std::move(loaded.counts));
    ++number;
  }
  return all;
}

Split split_validation(std::vector<Conversation> rows, double val_size, uint64_t seed) {
  const auto count = static_cast<int64_t>(rows.size());
  if (!(val_size >= 0) || (val_size >= 1 && val_size != std::floor(val_size)))
    throw UserError(fmt::format(
        "val_size should be a fraction below 1 or a whole number of rows, got {}", val_size));
  const double wanted = val_size < 1 ? std::ceil(val_size * static_cast<double>(count)) : val_size;
  if (wanted > 0 && wanted >= static_cast<double>(count))
    throw UserError(fmt::format(
        "val_size {} takes all {} rows, so none is left to train on; lower it", val_size, count));
  const auto held = static_cast<int64_t>(wanted);
  const std::vector<int64_t> order = random_permutation(count, seed, kSplitStream);
  std::vector<bool> is_held(rows.size());
  for (int64_t i = 0; i < held; ++i)
    is_held[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
  Split split;
  for (size_t i = 0; i < rows.size(); ++i)
    (is_held[i] ? split.validation : split.train).push_back(std::move(rows[i]));
  return split;
}

TokenizedRows tokenize(const std::vector<Conversation>& rows, const ChatTemplate& chat_template,
                       const Tokenizer& tokenizer, const EncodeOptions& options) {
  if (options.cutoff_len < 2)
    throw UserError(fmt::format(
        "cutoff_len should be at least 2, a token and the one it learns to predict, got {}",
        options.cutoff_len));
  TokenizedRows tokenized;
  tokenized.rows = static_cast<int64_t>(rows.size());
  tokenized.examples.reserve(rows.size());
  for (const Conversation& row : rows) {
    EncodedConversation encoded = chat_template.encode(row, tokenizer, options);
    if (encoded.example.trained_labels() == 0) {
      ++tokenized.without_label;
      continue;
    }
    tokenized.truncated += encoded.truncated;
    encoded.example.origin = row.origin;
    tokenized.examples.push_back(std::move(encoded.example));
  }
  if (tokenized.examples.empty())
    throw UserError(fmt::format(
        "none of the {} rows has a token to train on under the template \"{}\" and cutoff_len {}; "
        "check the response column, or raise cutoff_len",
        rows.size(), chat_template.name(), options.cutoff_len));
  return tokenized;
}

}  // namespace cairn
