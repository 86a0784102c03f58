// A model that is rehearsed in no time, for the tests of plans.
#pragma once

#include "model/config.h"

namespace cairn::test {

inline ModelConfig make_small_config() {
  ModelConfig config;
  config.hidden = 256;
  config.intermediate = 512;
  config.num_layers = 6;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 64;
  config.vocab = 1024;
  return config;
}

}  // namespace cairn::test
