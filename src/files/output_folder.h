// A folder that one process writes to: what is in the way is found before the work, not after it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Holds a folder for as long as it lives; another process that asks for it is told so.
class FolderLock {
 public:
  // Makes the folder and its file `.lock`, which stays: removing it would let two runs hold two
  // files of that name. Throws UserError if the folder cannot be written or another process holds
  // it. A file system without locks goes unheld.
  explicit FolderLock(const std::string& folder);
  // Whether a run has held that folder before.
  static bool was_held(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

// Throws UserError if one of the files that are to be written is a folder, or exists and may not be
// replaced, an index's shards with it; `permission` is what the user can say to allow it.
void check_targets(const std::string& folder, const std::vector<std::string_view>& names,
                   bool may_replace, std::string_view permission);

// Makes the folder and those above it. Throws UserError.
void make_folder(const std::string& folder);

// Whether both are there and are one and the same.
bool is_same_place(const std::string& one, const std::string& other);

}  // namespace cairn
