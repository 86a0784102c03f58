#include "model/block.h"

namespace cairn {

void Block::forward(const Pass& pass, ConstView x, BlockSaved& saved, View y,
                    MemberSet dropped) const {
  saved.middle = pass.make_activation("middle", x.columns());
  attention.forward(pass, x, saved.attention, pass.filled(saved.middle), dropped);
  mlp.forward(pass, pass.filled(saved.middle), saved.mlp, y, dropped);
}

void Block::backward(const Pass& pass, ConstView x, BlockSaved& saved, View d,
                     bool input_gradient) const {
  mlp.backward(pass, pass.filled(saved.middle), saved.mlp, d);
  saved.middle.reset();
  attention.backward(pass, x, saved.attention, d, input_gradient);
}

void Block::forward_cached(const Pass& pass, ConstView x, KvCache& cache, int64_t layer,
                           ConstView cu_keys, View y) const {
  Tensor middle = pass.make_activation("middle", x.columns());
  attention.forward_cached(pass, x, cache, layer, cu_keys, pass.filled(middle));
  MlpSaved saved;
  mlp.forward(pass, pass.filled(middle), saved, y);
}

}  // namespace cairn
