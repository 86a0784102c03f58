#include "memory/machine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace cairn {
namespace {

// "Name:   123 kB" of a /proc file, in bytes.
int64_t read_kilobytes(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  return 0;
}

// A file that holds one number; none for "max", or for a file that is not there.
std::optional<int64_t> read_number(const std::string& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  int64_t value = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (status != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

int64_t read_stat(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string key;
  for (int64_t value; in >> key >> value;)
    if (key == name) return value;
  return 0;
}

// The names of limits and usage differ between the two versions of control groups. Above the softer
// limit a process is not killed, but hardly goes on: it is no room either.
struct CgroupVersion {
  const char* limit;
  const char* softer_limit;
  const char* usage;
  const char* droppable;
};
constexpr CgroupVersion kVersion2 = {"/memory.max", "/memory.high", "/memory.current",
                                     "inactive_file"};
// The soft limit of version 1 holds nobody back while the machine has memory.
constexpr CgroupVersion kVersion1 = {"/memory.limit_in_bytes", "", "/memory.usage_in_bytes",
                                     "total_inactive_file"};

// Version 1 writes "no limit" as a number near 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::optional<int64_t> read_limit(const std::string& folder, const CgroupVersion& version) {
  const int64_t hard = read_number(folder + version.limit).value_or(kNoLimit);
  const int64_t soft = *version.softer_limit
                           ? read_number(folder + version.softer_limit).value_or(kNoLimit)
                           : kNoLimit;
  const int64_t limit = std::min(hard, soft);
  return limit < kNoLimit ? std::optional(limit) : std::nullopt;
}

// Walks from the group of this process to the root and keeps what leaves least room.
void read_cgroups(const std::string& mount, std::string group, const CgroupVersion& version,
                  MachineMemory& memory) {
  while (true) {
    const std::string folder = mount + (group == "/" ? "" : group);
    if (const auto limit = read_limit(folder, version)) {
      const int64_t used = read_number(folder + version.usage).value_or(0) -
                           read_stat(folder + "/memory.stat", version.droppable);
      if (!memory.cgroup_limit_bytes ||
          *limit - used < *memory.cgroup_limit_bytes - memory.cgroup_used_bytes) {
        memory.cgroup_limit_bytes = limit;
        memory.cgroup_used_bytes = std::max<int64_t>(0, used);
      }
    }
    if (group.empty() || group == "/") return;
    group = group.substr(0, group.rfind('/'));
  }
}

}  // namespace

MachineMemory read_machine_memory(const std::string& root) {
  MachineMemory memory;
  memory.available_bytes = read_kilobytes(root + "/proc/meminfo", "MemAvailable");
  std::ifstream groups(root + "/proc/self/cgroup");  // lines of "id:controllers:path"
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string id, controllers, path;
    std::getline(parts, id, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    if (controllers.empty())
      read_cgroups(root + "/sys/fs/cgroup", path, kVersion2, memory);
    else if (("," + controllers + ",").find(",memory,") != std::string::npos)
      read_cgroups(root + "/sys/fs/cgroup/memory", path, kVersion1, memory);
  }
  return memory;
}

int64_t default_budget_bytes() {
  const MachineMemory memory = read_machine_memory();
  int64_t room = memory.available_bytes;
  if (memory.cgroup_limit_bytes)
    room = std::min(room, *memory.cgroup_limit_bytes - memory.cgroup_used_bytes);
  return resident_bytes() + std::max<int64_t>(0, room);
}

int64_t resident_bytes() { return read_kilobytes("/proc/self/status", "VmRSS"); }
int64_t peak_resident_bytes() { return read_kilobytes("/proc/self/status", "VmHWM"); }

bool reset_peak_resident() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5";
  out.flush();
  return out.good();
}

int installed_cores() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace cairn
