// The backend that runs on this machine's processor.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/cpu_kernels.h"

namespace cairn {

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(TargetProfile profile)
      : profile_(std::move(profile)), device_(profile_.threads), kernels_(profile_.threads) {}
  Device& device() override { return device_; }
  Kernels& kernels() override { return kernels_; }
  const TargetProfile& profile() const override { return profile_; }

 private:
  TargetProfile profile_;
  CpuDevice device_;
  CpuKernels kernels_;
};

}  // namespace cairn
