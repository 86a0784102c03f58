#include "train/sharding/cut_parameters.h"

#include <numeric>

#include "backend/kernels.h"
#include "base/bytes.h"

namespace cairn {
namespace {

// What a share is a multiple of.
int64_t multiple_of(const Parameter& parameter, const ModelSpec& spec, bool cuts_value) {
  // 8-bit states; the draws of stochastic rounding come in groups that divide it.
  int64_t multiple = kCodedBlock;
  if (!cuts_value) return multiple;
  // Ranks read and quantise rows.
  multiple = std::lcm(multiple, parameter.shape.row_elements());
  if (parameter.storage == DType::u4)
    multiple = std::lcm(multiple,
                        spec.quantisation->block * (spec.quantisation->nested ? kNestedBlock : 1));
  return multiple;
}

}  // namespace

void cut_parameters(Model& model, const ShardingSettings& settings, World world) {
  if (world.size == 1) return;
  for (Parameter& parameter : model.parameters()) {
    Cut& cut = parameter.cut;
    const int64_t n = parameter.elements();
    cut.states = parameter.trainable && settings.shares_states();
    cut.gradient = parameter.trainable && settings.shares_gradients();
    cut.value = settings.shares_weights() && n >= settings.persistence_threshold &&
                parameter.streamed_block < 0;
    if (!cut.states && !cut.value) continue;
    cut.share = round_up(ceil_div(n, world.size), multiple_of(parameter, model.spec(), cut.value));
    cut.first = std::min(n, world.rank * cut.share);
    cut.count = std::min(n - cut.first, cut.share);
  }
}

}  // namespace cairn
