// Backend = Device + Kernels, and the profile of its target.
#pragma once

#include "backend/kernels.h"
#include "backend/target_profile.h"
#include "memory/device.h"

namespace cairn {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device& device() = 0;
  virtual Kernels& kernels() = 0;
  virtual const TargetProfile& profile() const = 0;
};

}  // namespace cairn
