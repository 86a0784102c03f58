#include "train/rank_agreement.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/content_hash.h"
#include "base/error.h"
#include "files/checkpoint_manifest.h"
#include "train/run_identity.h"

namespace cairn {
namespace {

// Where a rank finds things, and what it has of memory and cores, may be its own.
constexpr std::array<std::string_view, 13> kOwn = {"model_name_or_path",
                                                   "adapter_name_or_path",
                                                   "dataset",
                                                   "dataset_dir",
                                                   "eval_dataset",
                                                   "tokenized_path",
                                                   "output_dir",
                                                   "page_dir",
                                                   "threads",
                                                   "device",
                                                   "memory_budget",
                                                   "page_resident",
                                                   "resume_from_checkpoint"};
constexpr const char* kBegin = "the checkpoint that it goes on from";

RunIdentity::Values values_of(const PreparedRun& run) {
  const RunIdentity identity = identify(run);
  RunIdentity::Values values = identity.fixed;
  values.insert(identity.changeable.begin(), identity.changeable.end());
  const nlohmann::json recipe = nlohmann::json::parse(to_json(run.recipe));
  for (const auto& [key, value] : recipe.items())
    if (std::ranges::find(kOwn, key) == kOwn.end()) values[key] = value.dump();
  values["a sample of the model's weights"] = sample_of_weights(run);
  values[kBegin] = run.resume ? checksum_of_checkpoint(run.resume->folder) : "none";
  return values;
}

// What a double holds exactly.
double number_of(const std::string& name, const std::string& value) {
  return static_cast<double>(ContentHash().add(name).add(value).word() >> 11);
}

std::string what_to_do(const std::string& name) {
  return name == kBegin ? "output_dir must be one folder, on a file system that all ranks share"
                        : "give every rank the same recipe, model and data";
}

}  // namespace

void check_ranks_agree(const PreparedRun& run, Communicator& ranks) {
  if (ranks.world_size() == 1) return;
  const RunIdentity::Values values = values_of(run);
  const size_t count = values.size(), mine = static_cast<size_t>(ranks.rank());
  std::vector<double> numbers(count * static_cast<size_t>(ranks.world_size()));
  size_t at = mine * count;
  for (const auto& [name, value] : values) numbers[at++] = number_of(name, value);
  for (const double others : ranks.exchange(static_cast<double>(count)))
    if (others != static_cast<double>(count))
      throw CommError("ranks have recipes of different keys; start them all with one program");
  ranks.sum(numbers);
  for (size_t rank = 1; rank * count < numbers.size(); ++rank) {
    size_t i = 0;
    for (const auto& [name, value] : values) {
      if (numbers[rank * count + i] != numbers[i])
        throw CommError(
            fmt::format("rank {} differs from rank 0 in {}: {}", rank, name, what_to_do(name)));
      ++i;
    }
  }
}

}  // namespace cairn
