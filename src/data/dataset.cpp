// Reading rows with every record accounted for, and choosing among them.
#include "data/dataset.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/utf8.h"

namespace cairn {
namespace {

// Streams of the run's seed are told apart by what they are for.
constexpr uint64_t kChoiceStream = uint64_t{0x63686f696365} << 16;  // "choice", then the data set
constexpr uint64_t kRepeatStream = uint64_t{0x726570656174} << 16;  // "repeat", then the data set
constexpr uint64_t kSplitStream = uint64_t{0x73706c6974} << 24;     // "split"
constexpr uint64_t kMixStream = uint64_t{0x6d6978} << 40;           // "mix"

// Reasons may quote rows, so there may be as many as rows, of any length.
constexpr size_t kMostReasons = 20;
constexpr size_t kLongestReason = 200;  // bytes
constexpr const char* kOtherReasons = "other reasons";

// The names of the columns of a record that fits no mapping, to show what the file holds.
std::string columns_of(const nlohmann::ordered_json& record) {
  constexpr size_t kMostNames = 20, kLongestName = 60;
  std::vector<std::string> names;
  for (const auto& [key, value] : record.items()) {
    if (names.size() == kMostNames) {
      names.push_back(fmt::format("{} more", record.size() - kMostNames));
      break;
    }
    names.push_back("`" + shortened(key, kLongestName) + "`");
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

int64_t DatasetCounts::skipped_total() const {
  return std::accumulate(skipped.begin(), skipped.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

RowReader::RowReader(DatasetEntry entry, RowUse use, std::optional<int64_t> most)
    : entry_(std::move(entry)), use_(use), most_(most) {
  counts_.name = entry_.name;
}

bool RowReader::open_next_file() {
  if (source_) counts_.blank_lines += source_->blank_lines();
  source_.reset();
  if (next_file_ == entry_.files.size()) return false;
  source_ = open_records(entry_.files[next_file_++]);
  return true;
}

std::optional<Conversation> RowReader::next() {
  while (!most_ || counts_.records < *most_) {
    std::optional<Record> record;
    while (!record) {
      if (!source_ && !open_next_file()) return std::nullopt;
      record = source_->next();
      if (!record && !open_next_file()) return std::nullopt;
    }
    if (++counts_.records == 1) found_columns_ = columns_of(record->value);
    counts_.string_encoded += record->string_encoded;
    FormattedRow row = formatted_row(record->value, entry_, use_);
    if (row.skipped.empty()) {
      ++counts_.used;
      row.conversation.origin.record = counts_.records;
      return std::move(row.conversation);
    }
    count_skipped(row.skipped);
  }
  return std::nullopt;
}

void RowReader::skip(const std::string& reason) {
  --counts_.used;
  count_skipped(reason);
}

void RowReader::count_skipped(const std::string& reason) {
  const std::string brief = shortened(reason, kLongestReason);
  const bool is_kept = counts_.skipped.size() < kMostReasons || counts_.skipped.contains(brief);
  ++counts_.skipped[is_kept ? brief : kOtherReasons];
}

DatasetCounts RowReader::counts() const {
  DatasetCounts counts = counts_;
  if (source_) counts.blank_lines += source_->blank_lines();
  if (counts.records == 0)
    throw UserError(fmt::format("the data set \"{}\" ({}) holds no record", entry_.name,
                                entry_.files.front().string()));
  if (counts.used == 0)
    throw UserError(
        fmt::format("none of the {} records of the data set \"{}\" can be used (such as: {}); "
                    "they have the columns {}: map them with `columns` in dataset_info.json",
                    counts.records, entry_.name, counts.skipped.begin()->first, found_columns_));
  return counts;
}

std::vector<int64_t> chosen_rows(DatasetCounts& counts, std::optional<int64_t> num_samples,
                                 std::optional<int64_t> max_samples, uint64_t seed,
                                 uint64_t number) {
  const int64_t count = counts.used;
  std::vector<int64_t> chosen(static_cast<size_t>(count));
  std::iota(chosen.begin(), chosen.end(), int64_t{0});
  if (num_samples) {
    chosen = random_permutation(count, seed, kChoiceStream + number);
    const Random random(seed, kRepeatStream + number);
    if (*num_samples < count) {
      chosen.resize(static_cast<size_t>(*num_samples));
      counts.skipped["left out by num_samples"] += count - *num_samples;
    }
    for (int64_t i = count; i < *num_samples; ++i)
      chosen.push_back(static_cast<int64_t>(
          random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(count))));
    counts.repeated = std::max(*num_samples - count, int64_t{0});
    counts.used = *num_samples;
  }
  if (max_samples && counts.used > *max_samples) {
    // Repeats stand at the end, so they go first.
    const int64_t dropped = counts.used - *max_samples;
    const int64_t repeats = std::min(dropped, counts.repeated);
    counts.repeated -= repeats;
    if (dropped > repeats) counts.skipped["beyond max_samples"] += dropped - repeats;
    counts.used = *max_samples;
    chosen.resize(static_cast<size_t>(*max_samples));
  }
  return chosen;
}

SplitRows split_validation(int64_t count, double val_size, uint64_t seed) {
  if (!(val_size >= 0) || (val_size >= 1 && val_size != std::floor(val_size)))
    throw UserError(fmt::format(
        "val_size should be a fraction below 1 or a whole number of rows, got {}", val_size));
  const double wanted = val_size < 1 ? std::ceil(val_size * static_cast<double>(count)) : val_size;
  if (wanted > 0 && wanted >= static_cast<double>(count))
    throw UserError(fmt::format(
        "val_size {} takes all {} rows, so none is left to train on; lower it", val_size, count));
  const auto held = static_cast<int64_t>(wanted);
  const std::vector<int64_t> order = random_permutation(count, seed, kSplitStream);
  std::vector<bool> is_held(static_cast<size_t>(count));
  for (int64_t i = 0; i < held; ++i)
    is_held[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
  SplitRows split;
  for (int64_t i = 0; i < count; ++i)
    (is_held[static_cast<size_t>(i)] ? split.validation : split.train).push_back(i);
  return split;
}

std::vector<MixedRow> mixed_rows(const std::vector<int64_t>& sizes, MixStrategy strategy,
                                 const std::vector<double>& probabilities, uint64_t seed) {
  std::vector<MixedRow> rows;
  const size_t count = sizes.size();
  if (strategy == MixStrategy::concat || count < 2) {
    for (uint32_t d = 0; d < count; ++d)
      for (int64_t i = 0; i < sizes[d]; ++i) rows.push_back({d, i});
    return rows;
  }
  const bool once = strategy == MixStrategy::interleave_once;
  std::vector<int64_t> next(count, 0);
  std::vector<bool> through(count, false);
  const auto ended = [&] {
    const auto finished = std::count(through.begin(), through.end(), true);
    return strategy == MixStrategy::interleave_under ? finished > 0
                                                     : finished == static_cast<int64_t>(count);
  };
  const Random random(seed, kMixStream);
  uint64_t draws = 0;
  // In turn, a round is finished before the end is looked at, as the datasets library does.
  const auto take = [&](uint32_t d) {
    if (once && through[d]) return;
    rows.push_back({d, next[d] % sizes[d]});
    if (++next[d] >= sizes[d]) through[d] = true;
  };
  while (!ended()) {
    if (probabilities.empty()) {
      for (uint32_t d = 0; d < count; ++d) take(d);
      continue;
    }
    double point = static_cast<double>(random.uniform(draws++)), sum = 0;
    uint32_t drawn = static_cast<uint32_t>(count) - 1;
    for (uint32_t d = 0; d < count; ++d) {
      sum += probabilities[d];
      if (point < sum) {
        drawn = d;
        break;
      }
    }
    take(drawn);
  }
  return rows;
}

}  // namespace cairn
