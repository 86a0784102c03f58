// RunCheckpoints: the checkpoints of one run in its output folder: each is written whole, the
// oldest go beyond save_total_limit, and those of an earlier run once there is one of this run.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "train/prepare.h"

namespace cairn {

class RunCheckpoints {
 public:
  // `remark` is told what the user should know: an old checkpoint that could not be removed.
  RunCheckpoints(const PreparedRun& run, std::function<void(const std::string&)> remark);

  // `write` writes the files to the folder that it is given; `has_states`: a run can go on from
  // them. Returns the path. Throws DeviceError that names the last whole checkpoint, which stays.
  std::string save(int64_t step, bool has_states,
                   const std::function<void(const std::string& folder)>& write);

  // On another rank than the first: `write` adds to the folder that the first one is writing, and
  // returns when that has its name. Throws as save does.
  void add(int64_t step, bool has_states,
           const std::function<void(const std::string& folder)>& write);

  // The last whole one that this run can go on from; empty: none.
  const std::string& latest() const { return latest_; }
  int64_t latest_step() const { return latest_step_; }
  // "the last whole checkpoint is ...", or that there is none.
  std::string latest_words() const;

 private:
  void remove_old(int64_t newest, const std::string& newest_path);
  void note_saved(int64_t step);
  [[noreturn]] void throw_not_saved(const DeviceError& error, int64_t step) const;

  const OutputRecipe& output_;
  std::vector<std::string> outdated_;
  std::function<void(const std::string&)> remark_;
  std::string latest_;
  int64_t latest_step_ = -1;
};

}  // namespace cairn
