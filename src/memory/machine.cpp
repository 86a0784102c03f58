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
int64_t read_kilobytes(const char* file, const std::string& name) {
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

// The names of limit and usage differ between the two versions of control groups.
struct CgroupVersion {
  const char* limit;
  const char* usage;
  const char* droppable;
};
constexpr CgroupVersion kVersion2 = {"/memory.max", "/memory.current", "inactive_file"};
constexpr CgroupVersion kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                     "total_inactive_file"};

// Walks from the group of this process to the root and keeps what leaves least room.
void read_cgroups(const std::string& mount, std::string group, const CgroupVersion& version,
                  MachineMemory& memory) {
  while (true) {
    const std::string folder = mount + (group == "/" ? "" : group);
    const auto limit = read_number(folder + version.limit);
    // Version 1 writes "no limit" as a number near 2^63.
    if (limit && *limit < (int64_t{1} << 60)) {
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

MachineMemory read_machine_memory() {
  MachineMemory memory;
  memory.available_bytes = read_kilobytes("/proc/meminfo", "MemAvailable");
  std::ifstream groups("/proc/self/cgroup");  // lines of "id:controllers:path"
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string id, controllers, path;
    std::getline(parts, id, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    if (controllers.empty())
      read_cgroups("/sys/fs/cgroup", path, kVersion2, memory);
    else if (("," + controllers + ",").find(",memory,") != std::string::npos)
      read_cgroups("/sys/fs/cgroup/memory", path, kVersion1, memory);
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
