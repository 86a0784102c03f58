// Everything that stands in the way of a run's files, found before its first step; and where in the
// run it begins.
#include <filesystem>

#include "base/error.h"
#include "files/checkpoint_folder.h"
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

// Whether the run goes on with what lies in its output folder, by whatever path it was named.
bool continues_here(const PreparedRun& run) {
  if (!run.resume) return false;
  return is_same_place(fs::canonical(run.resume->folder).parent_path().string(),
                       run.recipe.output.output_dir);
}

// What has no manifest is another program's, or damaged, and is neither passed over nor replaced.
void check_foreign_checkpoints(const PreparedRun& run) {
  const int64_t begin = run.resume ? run.resume->state.step : 0;
  for (const CheckpointPath& foreign : list_foreign_checkpoints(run.recipe.output.output_dir))
    if (foreign.step > begin && foreign.step <= run.schedule.total_steps)
      throw UserError(fmt::format(
          "{} has no checkpoint.json: it is another program's, or damaged, and this run comes to "
          "its step too; move it away, or choose another output_dir",
          foreign.path));
}

// Checkpoints of another run are replaced only if that was allowed. One that is past the step that
// a run goes on from is of the branch that it leaves: the next run would take it for the newest.
void find_outdated(PreparedRun& run) {
  const OutputRecipe& output = run.recipe.output;
  const bool goes_on = continues_here(run);
  for (const CheckpointPath& checkpoint : list_checkpoints(output.output_dir)) {
    if (goes_on && checkpoint.step <= run.resume->state.step) continue;
    if (!goes_on && !output.overwrite_output_dir)
      throw UserError(fmt::format(
          "{} holds checkpoint-{} of another run: choose another folder, or {} to replace it.",
          output.output_dir, checkpoint.step, kPermission));
    run.outdated_checkpoints.push_back(checkpoint.path);
  }
}

}  // namespace

std::unique_ptr<FolderLock> open_output_folder(PreparedRun& run,
                                               const std::vector<std::string_view>& reports) {
  const OutputRecipe& output = run.recipe.output;
  check_is_not_the_model(output.output_dir, run);
  // The reports of a run that ended without a result are Cairn's own, and no loss.
  const bool begun_before = FolderLock::was_held(output.output_dir);
  auto lock = std::make_unique<FolderLock>(output.output_dir);
  remove_leftovers(output.output_dir);
  check_checkpoints(run);
  choose_resume_point(run);
  check_foreign_checkpoints(run);
  const bool may_replace = output.overwrite_output_dir || continues_here(run);
  find_outdated(run);
  std::vector<std::string_view> names = model_file_names();
  names.insert(names.end(), {"adapter_model.safetensors", "adapter_config.json"});
  check_targets(output.output_dir, names, may_replace, kPermission);
  check_targets(output.output_dir, reports, may_replace || begun_before, kPermission);
  return lock;
}

}  // namespace cairn
