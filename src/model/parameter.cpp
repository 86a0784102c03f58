#include "model/parameter.h"

namespace cairn {

View Parameter::view_own_value() {
  if (cut.value) return memory.value.view_rows(cut.count);
  return value.view_as({elements()}).view_rows(own_first(), own_elements());
}

View Parameter::view_own_gradient() {
  if (cut.gradient) return gradient_share.view_rows(cut.count);
  return gradient.view().view_as({elements()}).view_rows(own_first(), own_elements());
}

}  // namespace cairn
