#include "files/checkpoint_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kPartial = ".partial";    // being written, or being thrown away
constexpr std::string_view kReplaced = ".replaced";  // whole, until the new one has its name

bool all_digits(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// N of "checkpoint-N" and, with a suffix, of "checkpoint-N.suffix".
std::optional<int64_t> step_of(std::string_view name, std::string_view suffix = "") {
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(suffix.size());
  if (!all_digits(name)) return std::nullopt;
  return std::stoll(std::string(name));
}

// "NAME.partial-PID-ATTEMPT", as AtomicFile names what it writes.
bool is_partial_file(std::string_view name) {
  const size_t mark = name.rfind(".partial-");
  if (mark == std::string_view::npos || mark == 0) return false;
  const std::string_view numbers = name.substr(mark + std::strlen(".partial-"));
  const size_t dash = numbers.find('-');
  return dash != std::string_view::npos && all_digits(numbers.substr(0, dash)) &&
         all_digits(numbers.substr(dash + 1));
}

// Of a file that a run writes to its output folder.
bool is_of_a_run(std::string_view name) {
  for (const char* begin :
       {"adapter_model.safetensors.", "adapter_config.json.", "model.safetensors", "model-",
        "config.json.", "generation_config.json.", "tokenizer", "special_tokens_map.json.",
        "resolved_recipe.yaml.", "ledger.json.", "trainer_log.jsonl.", "training_loss.svg."})
    if (name.starts_with(begin)) return true;
  return false;
}

[[noreturn]] void throw_disk_error(const std::string& path, const std::string& what) {
  throw DeviceError(fmt::format("{} could not be {}.", path, what));
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  // Some file systems cannot sync a folder.
  ::fsync(descriptor);
  ::close(descriptor);
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw_disk_error(path.string(), fmt::format("removed ({})", error.message()));
}

void rename_or_throw(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw_disk_error(from, fmt::format("renamed to {} ({})", to, std::strerror(errno)));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Puts `from` in the place of the folder `to`, which may exist; either is whole at every moment,
// and the old one goes once the disk has the new one. Returns where the old one is until then, or
// nothing.
std::string put_in_place(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::exists(to, error)) {
    rename_or_throw(from, to);
    return "";
  }
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return from;
  // A file system that cannot exchange: between the two renames the old one waits under a name that
  // remove_leftovers knows.
  std::string old = to + std::string(kReplaced);
  rename_or_throw(to, old);
  rename_or_throw(from, to);
  return old;
}

bool has_manifest(const std::string& folder) {
  std::error_code error;
  return fs::exists(folder + "/" + std::string(kManifest), error);
}

// Folders checkpoint-N with or without a manifest, by step.
std::vector<CheckpointPath> list_folders(const std::string& output_dir, bool with_manifest) {
  std::vector<CheckpointPath> found;
  std::error_code error;
  for (const std::string& name : names_in(output_dir)) {
    const auto step = step_of(name);
    std::string path = output_dir + "/" + name;
    if (step && fs::is_directory(path, error) && has_manifest(path) == with_manifest)
      found.push_back({*step, std::move(path)});
  }
  std::ranges::sort(found, {}, &CheckpointPath::step);
  return found;
}

}  // namespace

std::string checkpoint_path(const std::string& output_dir, int64_t step) {
  return fmt::format("{}/{}{}", output_dir, kPrefix, step);
}

std::string partial_checkpoint_path(const std::string& output_dir, int64_t step) {
  return checkpoint_path(output_dir, step) + std::string(kPartial);
}

CheckpointFolder::CheckpointFolder(const std::string& output_dir, int64_t step)
    : output_dir_(output_dir),
      final_(checkpoint_path(output_dir, step)),
      partial_(partial_checkpoint_path(output_dir, step)) {
  std::error_code error;
  if (fs::exists(final_, error) && !fs::is_directory(final_, error))
    throw UserError(fmt::format("{} is a file: a checkpoint is to be written there.", final_));
  if (fs::exists(final_, error) && !has_manifest(final_))
    throw UserError(fmt::format(
        "{} is no checkpoint of Cairn, and one is to be written there: move it away.", final_));
  remove_tree(partial_);
  fs::create_directories(partial_, error);
  if (error) throw_disk_error(partial_, fmt::format("made ({})", error.message()));
}

CheckpointFolder::~CheckpointFolder() {
  if (committed_) return;
  std::error_code error;
  fs::remove_all(partial_, error);
}

void CheckpointFolder::commit() {
  write_manifest(partial_);
  sync_folder(partial_);
  std::error_code error;
  const std::string old = put_in_place(partial_, final_);
  committed_ = true;
  sync_folder(output_dir_);
  // It is whole and has its name: what cannot go now is a leftover of the next run's.
  if (!old.empty()) fs::remove_all(old, error);
}

std::vector<CheckpointPath> list_checkpoints(const std::string& output_dir) {
  return list_folders(output_dir, true);
}

std::vector<CheckpointPath> list_foreign_checkpoints(const std::string& output_dir) {
  return list_folders(output_dir, false);
}

void remove_checkpoint(const std::string& path) {
  const std::string partial = path + std::string(kPartial);
  remove_tree(partial);
  rename_or_throw(path, partial);
  remove_tree(partial);
}

void keep_latest_checkpoints(const std::string& output_dir, int64_t limit, int64_t newest) {
  const std::vector<CheckpointPath> all = list_checkpoints(output_dir);
  auto surplus = static_cast<int64_t>(all.size()) - limit;
  for (const CheckpointPath& checkpoint : all) {
    if (surplus <= 0) return;
    if (checkpoint.step == newest) continue;
    remove_checkpoint(checkpoint.path);
    --surplus;
  }
}

std::vector<std::string> remove_leftovers(const std::string& output_dir) {
  std::vector<std::string> removed;
  std::error_code error;
  for (const std::string& name : names_in(output_dir)) {
    const std::string path = output_dir + "/" + name;
    const bool is_folder = fs::is_directory(path, error);
    if (is_folder && step_of(name, kReplaced)) {
      const std::string whole = path.substr(0, path.size() - kReplaced.size());
      if (!fs::exists(whole, error)) {
        rename_or_throw(path, whole);
        continue;
      }
    } else if (!(is_folder && step_of(name, kPartial)) &&
               !(!is_folder && is_partial_file(name) && is_of_a_run(name))) {
      continue;
    }
    fs::remove_all(path, error);
    if (!error) removed.push_back(name);
  }
  return removed;
}

}  // namespace cairn
