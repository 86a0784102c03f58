// How many cores this process may use.
#pragma once

namespace cairn::cpu {

// The least of its CPU affinity and the CPU quota of its cgroup (v1 or v2), at least 1.
int usable_cores();

}  // namespace cairn::cpu
