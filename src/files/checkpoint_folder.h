// Checkpoint folders of a run, output_dir/checkpoint-N. One is written under another name beside
// its own; every file and folder is synced, a manifest with sizes and checksums comes last, and one
// rename makes it appear. It vanishes by a rename as well, so that no folder of that name is ever
// partial. What a process that was killed left behind has a name of its own and is removed by the
// next run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/checkpoint_manifest.h"

namespace cairn {

// One that Cairn wrote: it has a manifest.
struct CheckpointPath {
  int64_t step = 0;
  std::string path;
};

// Writes one. Everything that lies in path() at the commit belongs to it.
class CheckpointFolder {
 public:
  // Makes path() anew. Throws UserError, or DeviceError if the disk refuses.
  CheckpointFolder(const std::string& output_dir, int64_t step);
  // Removes path() if there was no commit.
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  // Where its files are to be written, under names without a folder.
  const std::string& path() const { return partial_; }
  const std::string& final_path() const { return final_; }
  // Reads every file back for its checksum, writes the manifest, syncs and renames. What had the
  // name before is gone afterwards. Throws DeviceError.
  void commit();

 private:
  std::string output_dir_, final_, partial_;
  bool committed_ = false;
};

std::string checkpoint_path(const std::string& output_dir, int64_t step);
// Where another rank puts what it adds to the checkpoint that the first one is writing.
std::string partial_checkpoint_path(const std::string& output_dir, int64_t step);

// By step, ascending. A folder without manifest is not among them.
std::vector<CheckpointPath> list_checkpoints(const std::string& output_dir);
// Folders named checkpoint-N that have no manifest: of another program, or damaged. By step.
std::vector<CheckpointPath> list_foreign_checkpoints(const std::string& output_dir);
// It loses its name first: if the rest cannot be removed (DeviceError), it is a leftover.
void remove_checkpoint(const std::string& path);
// Removes the oldest until `limit` are left, never that of step `newest`.
void keep_latest_checkpoints(const std::string& output_dir, int64_t limit, int64_t newest);

// What a run that was killed left: partial checkpoints and files, and checkpoints half removed or
// half replaced. Returns their names; what cannot be removed stays. The caller holds the folder.
std::vector<std::string> remove_leftovers(const std::string& output_dir);

}  // namespace cairn
