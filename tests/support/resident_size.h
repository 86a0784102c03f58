// The process's resident size as the kernel counts it: the proof of the ledger that does not come
// from the ledger.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace cairn::testing {

struct ResidentSize {
  int64_t now_bytes = 0;        // VmRSS
  int64_t peak_bytes = 0;       // VmHWM
  int64_t anonymous_bytes = 0;  // RssAnon: no code, no file pages
};

// Reads /proc/self/status; nothing where there is no such file.
inline std::optional<ResidentSize> read_resident_size() {
  std::ifstream in("/proc/self/status");
  if (!in) return std::nullopt;
  ResidentSize size;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t kib = 0;
    words >> key >> kib;
    if (key == "VmRSS:") size.now_bytes = kib * 1024;
    if (key == "VmHWM:") size.peak_bytes = kib * 1024;
    if (key == "RssAnon:") size.anonymous_bytes = kib * 1024;
  }
  return size;
}

// Sets the peak back to the present. False where the kernel does not allow it.
inline bool reset_resident_peak() {
  std::ofstream out("/proc/self/clear_refs");
  out << '5' << std::flush;
  return static_cast<bool>(out);
}

}  // namespace cairn::testing
