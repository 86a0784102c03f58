// Affinity says which cores, a cgroup's quota how much time on them; a thread more than either only
// waits for the others.
#include "backend/cpu/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace cairn::cpu {
namespace {

int cores_by_affinity() {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(cpus));
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    const int status = sched_getaffinity(0, bytes, set);
    const int error = errno;
    const int count = status == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (status == 0) return count;
    if (error != EINVAL) break;  // EINVAL: the machine has more cores than the set
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Cores' worth of time that one cgroup folder allows; infinity without a limit.
double quota_of(const std::string& folder) {
  std::string quota;
  double period = 0;
  if (std::ifstream v2(folder + "/cpu.max"); v2 >> quota >> period) {
    const double microseconds = std::strtod(quota.c_str(), nullptr);  // 0 of "max": no limit
    return microseconds > 0 && period > 0 ? microseconds / period : INFINITY;
  }
  double v1_quota = 0;
  std::ifstream v1(folder + "/cpu.cfs_quota_us"), v1_period(folder + "/cpu.cfs_period_us");
  if (v1 >> v1_quota && v1_period >> period && v1_quota > 0 && period > 0) return v1_quota / period;
  return INFINITY;
}

// Every folder from a process's cgroup up to the root limits it.
double quota_along(const std::string& root, std::string path) {
  double quota = quota_of(root);
  while (path.size() > 1) {
    quota = std::min(quota, quota_of(root + path));
    path.resize(path.rfind('/'));
  }
  return quota;
}

// Lines of /proc/self/cgroup are "id:controllers:path"; v2 has the id 0 and no controllers.
double cores_by_quota() {
  double quota = INFINITY;
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    if (controllers.empty())
      quota = std::min(quota, quota_along("/sys/fs/cgroup", path));
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      quota = std::min(quota, quota_along("/sys/fs/cgroup/" + controllers, path));
  }
  return quota;
}

}  // namespace

int usable_cores() {
  const int cores = std::max(1, cores_by_affinity());
  const double quota = cores_by_quota();
  return quota >= cores ? cores : std::max(1, static_cast<int>(std::ceil(quota)));
}

}  // namespace cairn::cpu
