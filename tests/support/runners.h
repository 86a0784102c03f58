// Every way this build can run an op: each backend, with one thread and with several, and on a CPU
// with each instruction set it knows.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "support/only_target.h"

namespace cairn::test {

struct Runner {
  std::string device;
  int threads = 1;
  int64_t simd_target = 0;  // of Highway; 0: the best

  std::string name() const {
    return fmt::format("{} with {} threads{}", device, threads,
                       simd_target ? std::string(" on ") + hwy::TargetName(simd_target) : "");
  }
};

// Groups of runners whose bits must agree: one device and instruction set, any thread count.
inline std::vector<std::vector<Runner>> built_runners() {
  std::vector<std::vector<Runner>> groups;
  for (const int64_t target : {int64_t{0}, int64_t{HWY_AVX2}, int64_t{HWY_SCALAR}})
    if (target == 0 || target == HWY_SCALAR || (hwy::SupportedTargets() & target))
      groups.push_back({{"cpu", 1, target}, {"cpu", 3, target}});
  return groups;
}

// The backend of a runner. While it lives, its instruction set is the one that is chosen.
class RunnerScope {
 public:
  explicit RunnerScope(const Runner& runner)
      : backend_(open_backend(runner.device, runner.threads)), only_(runner.simd_target) {}
  Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
  OnlyTarget only_;
};

}  // namespace cairn::test
