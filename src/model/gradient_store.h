// GradientStore: where the gradients of a unit (a block, the head, the embedding) are while its
// backward adds to them. Without one they stay for the run.
#pragma once

#include <span>

#include "model/parameter.h"
#include "model/pass.h"

namespace cairn {

// The trained parameters of a unit.
using Unit = std::vector<Parameter*>;

class GradientStore {
 public:
  virtual ~GradientStore() = default;
  // Makes the unit's gradients, zero.
  virtual void open(const Unit& unit) = 0;
  // The unit's gradients are complete.
  virtual void close(const Unit& unit) = 0;
};

// A unit's gradients from the first addition to the last, if the pass has a store for them.
class OpenGradients {
 public:
  OpenGradients(const Pass& pass, const Unit& unit)
      : store_(unit.empty() ? nullptr : pass.gradients), unit_(unit) {
    if (store_) store_->open(unit_);
  }
  OpenGradients(const OpenGradients&) = delete;
  OpenGradients& operator=(const OpenGradients&) = delete;

  // Call once the unit's backward is done; may throw what the store throws.
  void complete() {
    if (store_) store_->close(unit_);
  }

 private:
  GradientStore* store_;
  const Unit& unit_;
};

}  // namespace cairn
