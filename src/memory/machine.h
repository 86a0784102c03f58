// What the machine and this process really have, read from the system: the other side of the
// ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cairn {

struct MachineMemory {
  int64_t available_bytes = 0;                // what could be taken now without swapping
  std::optional<int64_t> cgroup_limit_bytes;  // the tightest limit above this process
  int64_t cgroup_used_bytes = 0;              // of that group, caches that can be dropped left out
};
// `root`: the folder that holds /proc and /sys.
MachineMemory read_machine_memory(const std::string& root = "");

// The most this process may hold in all: what it holds now, plus the least of what the machine and
// its control group still have to give.
int64_t default_budget_bytes();

// Resident size of this process, now and at its peak since start or the last reset.
int64_t resident_bytes();
int64_t peak_resident_bytes();
// Starts the peak anew; false where the system does not allow it.
bool reset_peak_resident();

// Cores of the machine, whether this process may use them or not.
int installed_cores();

}  // namespace cairn
