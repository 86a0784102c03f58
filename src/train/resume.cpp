#include "train/resume.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "files/checkpoint_folder.h"
#include "train/prepare.h"

namespace cairn {
namespace {

using Kind = ResumeChoice::Kind;

constexpr const char* kAnew =
    "choose another output_dir, or set overwrite_output_dir: true to start anew";

// The folder to go on from, or nothing.
std::optional<std::string> find_folder(const Recipe& recipe) {
  const OutputRecipe& output = recipe.output;
  if (output.resume.kind == Kind::anew) return std::nullopt;
  if (output.resume.kind == Kind::path) return find_path(output.resume.path, recipe.folder);
  const bool asked = output.resume.kind == Kind::last;
  if (!asked && output.overwrite_output_dir) return std::nullopt;
  const std::vector<CheckpointPath> own = list_checkpoints(output.output_dir);
  if (!own.empty()) return own.back().path;
  const std::vector<CheckpointPath> foreign = list_foreign_checkpoints(output.output_dir);
  if (!foreign.empty())
    throw UserError(fmt::format(
        "{} has no checkpoint.json, so no run of Cairn can go on from it: move it away, "
        "or choose another output_dir",
        foreign.back().path));
  if (asked)
    throw UserError(fmt::format(
        "resume_from_checkpoint is true, and {} holds no checkpoint; leave the key out: then a "
        "run begins anew where there is none",
        output.output_dir));
  return std::nullopt;
}

// The newest whole one before `path`.
std::optional<std::string> find_whole_before(const std::string& path,
                                             const std::string& output_dir) {
  const std::vector<CheckpointPath> own = list_checkpoints(output_dir);
  for (auto checkpoint = own.rbegin(); checkpoint != own.rend(); ++checkpoint) {
    if (checkpoint->path == path) continue;
    try {
      check_checkpoint(checkpoint->path);
      return checkpoint->path;
    } catch (const std::runtime_error&) {
      // Damaged as well.
    }
  }
  return std::nullopt;
}

void check_is_whole(const std::string& folder, const OutputRecipe& output) {
  try {
    check_checkpoint(folder);
  } catch (const DamagedFile& error) {
    const auto before = output.resume.kind == Kind::path
                            ? std::nullopt
                            : find_whole_before(folder, output.output_dir);
    if (!before)
      throw DamagedFile(fmt::format("{} Give another one to resume_from_checkpoint, or {}.",
                                    error.what(), kAnew));
    throw DamagedFile(fmt::format(
        "{} The checkpoint before it is whole: resume_from_checkpoint: {} goes on from there.",
        error.what(), *before));
  }
}

void check_is_of_this_run(const ResumePoint& point, const RunIdentity& here) {
  const std::vector<std::string> differences =
      list_differences(point.state.identity.fixed, here.fixed);
  if (!differences.empty())
    throw UserError(
        fmt::format("{} is of another run: {}; use the recipe that it was made with, or {}",
                    point.folder, fmt::join(differences, "; "), kAnew));
  const int64_t total = std::stoll(here.changeable.at("the number of steps"));
  if (point.state.step > total)
    throw UserError(
        fmt::format("{} is past the end of this run, which has {} steps: raise num_train_epochs or "
                    "max_steps, or {}",
                    point.folder, total, kAnew));
}

std::vector<std::string> remarks_of_resuming(const ResumePoint& point, const RunIdentity& here,
                                             bool asked) {
  std::vector<std::string> remarks = {
      fmt::format("going on from {}{}", point.folder,
                  asked ? "" : ": output_dir holds it, and overwrite_output_dir is not set")};
  for (std::string& remark :
       remarks_of_changes(point.state.identity.changeable, here.changeable, point.state.step))
    remarks.push_back(std::move(remark));
  if (std::to_string(point.state.step) == here.changeable.at("the number of steps"))
    remarks.push_back(
        "the checkpoint is at the last step: nothing is left to train; raise num_train_epochs or "
        "max_steps to train on");
  return remarks;
}

}  // namespace

std::vector<std::string> remarks_of_changes(const RunIdentity::Values& there,
                                            const RunIdentity::Values& here, int64_t step) {
  std::vector<std::string> remarks = list_differences(there, here);
  for (std::string& remark : remarks)
    remark = fmt::format("changed since the checkpoint: {}; the new value holds from step {} on",
                         remark, step + 1);
  return remarks;
}

void choose_resume_point(PreparedRun& run) {
  const OutputRecipe& output = run.recipe.output;
  const std::optional<std::string> folder = find_folder(run.recipe);
  if (!folder) return;
  if (!std::filesystem::is_directory(*folder))
    throw UserError(fmt::format(
        "resume_from_checkpoint: {} is not a folder; give one named checkpoint-N, true or false",
        *folder));
  check_is_whole(*folder, output);
  const StateFiles states(*folder);  // says so if there are none
  ResumePoint point{*folder, read_trainer_state(*folder), {}};
  const RunIdentity here = identify(run);
  check_is_of_this_run(point, here);
  point.remarks = remarks_of_resuming(point, here, output.resume.kind != Kind::automatic);
  run.resume = std::move(point);
}

}  // namespace cairn
