// Everything that stands in the way of a run's files, found before its first step.
#include <filesystem>

#include "base/error.h"
#include "files/hf_folder.h"
#include "train/engine.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPermission = "set overwrite_output_dir: true";

void check_is_not_the_model(const std::string& folder, const PreparedRun& run) {
  if (is_same_place(folder, run.files.path))
    throw UserError(fmt::format(
        "{} is the folder of the model that is trained: choose another output_dir.", folder));
}

// One that is there already is written over at its step, and so may not be the model.
void check_checkpoints(const PreparedRun& run) {
  const OutputRecipe& output = run.recipe.output;
  if (output.save_strategy == IntervalStrategy::no) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(output.output_dir)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("checkpoint-")) continue;
    if (!entry.is_directory())
      throw UserError(
          fmt::format("{} is a file: a checkpoint is to be written there.", entry.path().string()));
    check_is_not_the_model(entry.path().string(), run);
  }
}

}  // namespace

std::unique_ptr<FolderLock> open_output_folder(const PreparedRun& run,
                                               const std::vector<std::string_view>& reports) {
  const OutputRecipe& output = run.recipe.output;
  check_is_not_the_model(output.output_dir, run);
  // The reports of a run that ended without a result are Cairn's own, and no loss.
  const bool begun_before = FolderLock::was_held(output.output_dir);
  auto lock = std::make_unique<FolderLock>(output.output_dir);
  std::vector<std::string_view> names = model_file_names();
  names.insert(names.end(), {"adapter_model.safetensors", "adapter_config.json"});
  check_targets(output.output_dir, names, output.overwrite_output_dir, kPermission);
  check_targets(output.output_dir, reports, output.overwrite_output_dir || begun_before,
                kPermission);
  check_checkpoints(run);
  return lock;
}

}  // namespace cairn
