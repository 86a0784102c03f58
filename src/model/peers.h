// Peers: what loading and saving ask of the other ranks where each keeps a part of the weights. One
// rank alone has none.
#pragma once

#include "model/parameter.h"

namespace cairn {

class Peers {
 public:
  virtual ~Peers() = default;
  // absmax [blocks of the whole weight] f32, of which each rank has filled its own: fills the rest.
  virtual void complete_absmax(const Parameter& parameter, View absmax) = 0;
  // Every rank calls it. The rank that writes files gets elements [begin, begin + count) of the
  // value, which lie in one rank's share; `room` holds them if they come from another.
  virtual ConstView fetch(Parameter& parameter, int64_t begin, int64_t count, View room) = 0;
};

}  // namespace cairn
