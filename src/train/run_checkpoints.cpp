#include "train/run_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "files/checkpoint_folder.h"

namespace cairn {

RunCheckpoints::RunCheckpoints(const PreparedRun& run,
                               std::function<void(const std::string&)> remark)
    : output_(run.recipe.output), outdated_(run.outdated_checkpoints), remark_(std::move(remark)) {
  if (!run.resume) return;
  latest_ = run.resume->folder;
  latest_step_ = run.resume->state.step;
}

std::string RunCheckpoints::save(int64_t step, bool has_states,
                                 const std::function<void(const std::string&)>& write) {
  std::string path;
  try {
    CheckpointFolder folder(output_.output_dir, step);
    write(folder.path());
    folder.commit();
    path = folder.final_path();
  } catch (const DeviceError& error) {
    throw_not_saved(error, step);
  }
  if (has_states) note_saved(step);
  remove_old(step, path);
  return path;
}

// A file that another program holds must not end a run that has just saved its step.
void RunCheckpoints::remove_old(int64_t newest, const std::string& newest_path) {
  try {
    for (const std::string& outdated : std::exchange(outdated_, {}))
      if (outdated != newest_path && std::filesystem::exists(outdated)) remove_checkpoint(outdated);
    if (output_.save_total_limit)
      keep_latest_checkpoints(output_.output_dir, *output_.save_total_limit, newest);
  } catch (const DeviceError& error) {
    remark_(fmt::format("{} It is an old checkpoint, and the run goes on", error.what()));
  }
}

void RunCheckpoints::add(int64_t step, bool has_states,
                         const std::function<void(const std::string&)>& write) {
  try {
    write(partial_checkpoint_path(output_.output_dir, step));
  } catch (const DeviceError& error) {
    throw_not_saved(error, step);
  }
  if (has_states) note_saved(step);
}

void RunCheckpoints::throw_not_saved(const DeviceError& error, int64_t step) const {
  throw DeviceError(
      fmt::format("{} Step {} was not saved; {}.", error.what(), step, latest_words()));
}

void RunCheckpoints::note_saved(int64_t step) {
  latest_ = checkpoint_path(output_.output_dir, step);
  latest_step_ = step;
}

std::string RunCheckpoints::latest_words() const {
  std::string path = latest_;
  // The first rank may have put a later one in its place, and ended before it could say so.
  if (!path.empty() && !std::filesystem::exists(path)) {
    const std::vector<CheckpointPath> left = list_checkpoints(output_.output_dir);
    path = left.empty() ? "" : left.back().path;
  }
  return path.empty() ? std::string("there is no checkpoint yet")
                      : fmt::format("the last whole checkpoint is {}", path);
}

}  // namespace cairn
