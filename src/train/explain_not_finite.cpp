#include "train/explain_not_finite.h"

#include <map>

#include "model/finite_weights.h"

namespace cairn {
namespace {

constexpr size_t kMostShown = 32;

// What of the model's or the adapter's files is no number, or nothing.
std::string spoilt_weights(const PreparedRun& run) {
  for (const TensorSource* source : {run.files.weights.get(), run.adapter.get()})
    if (source)
      if (const auto name = find_not_finite(*source))
        return fmt::format("'{}' of {} holds values that are not finite", *name, source->path());
  return "";
}

}  // namespace

std::string rows_words(const PreparedRun& run, const SampledStep& step) {
  std::map<std::string, std::vector<int64_t>> rows;
  for (const MicroBatch& micro_batch : step)
    for (const int64_t index : micro_batch) {
      const RowOrigin origin = run.data.train.read(index).origin;
      const auto dataset = static_cast<size_t>(origin.dataset);
      rows[origin.dataset < 0 || dataset >= run.data.counts.size() ? "data set"
                                                                   : run.data.counts[dataset].name]
          .push_back(origin.record);
    }
  std::string words;
  for (auto& [name, numbers] : rows) {
    const size_t more = numbers.size() > kMostShown ? numbers.size() - kMostShown : 0;
    numbers.resize(numbers.size() - more);
    words +=
        fmt::format("{}{} {} of {}", words.empty() ? "" : "; ",
                    numbers.size() + more == 1 ? "row" : "rows", fmt::join(numbers, ", "), name);
    if (more > 0) words += fmt::format(" and {} more", more);
  }
  return words;
}

std::string explain_not_finite(const NotFinite& error, const PreparedRun& run,
                               const SampledStep& step, const std::string& saved) {
  const std::string weights = spoilt_weights(run);
  return fmt::format(
      "{}; its batch is {}; {}; nothing was saved, and {}", error.what(), rows_words(run, step),
      weights.empty() ? "lower learning_rate, or look at these rows" : weights, saved);
}

}  // namespace cairn
