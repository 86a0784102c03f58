#include "backend/registry.h"

#include <fmt/format.h>

#include "backend/cpu/cores.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/instruction_set.h"
#include "backend/rehearsal/rehearsal_device.h"
#include "backend/rehearsal/rehearsal_kernels.h"
#include "backend/rehearsal/rehearsal_page_store.h"
#include "base/error.h"

namespace cairn {
namespace {

class OpenRehearsal : public RehearsalBackend {
 public:
  explicit OpenRehearsal(const TargetProfile& profile)
      : profile_(profile), kernels_(std::make_unique<CpuKernels>(profile.threads)) {}
  Device& device() override { return device_; }
  Kernels& kernels() override { return kernels_; }
  const TargetProfile& profile() const override { return profile_; }
  PageStore& pages() override { return pages_; }
  Work work() const override {
    Work work = kernels_.work();
    work.page_bytes = pages_.bytes_moved();
    return work;
  }
  void reset_work() override {
    kernels_.reset_work();
    pages_.reset();
  }

 private:
  TargetProfile profile_;
  RehearsalDevice device_;
  RehearsalKernels kernels_;
  RehearsalPageStore pages_;
};

}  // namespace

std::unique_ptr<Backend> open_backend(const std::string& device, int threads) {
  return std::make_unique<CpuBackend>(profile_of(device, threads));
}

std::unique_ptr<RehearsalBackend> open_rehearsal(const TargetProfile& profile) {
  return std::make_unique<OpenRehearsal>(profile);
}

std::string cpu_instruction_set() {
  cpu::choose_instruction_set();
  return std::string(cpu::instruction_set());
}

TargetProfile cpu_profile(int threads) {
  if (threads < 0 || threads > kMostThreads)
    throw UserError(fmt::format(
        "threads is {}; write a number up to {}, or 0 for every core this process may use", threads,
        kMostThreads));
  TargetProfile profile;
  profile.threads = threads > 0 ? threads : cpu::usable_cores();
  return profile;
}

TargetProfile profile_of(const std::string& device, int threads) {
  if (device == "cpu" || device == "auto") return cpu_profile(threads);
  if (device == "cuda" || device.starts_with("cuda:"))
    throw UserError(fmt::format(
        "device '{}' is not built: configure with preset cuda, or write device: cpu", device));
  throw UserError(fmt::format("device '{}' is not known; write one of auto, cpu, cuda:N", device));
}

}  // namespace cairn
