// How the rows of several data sets follow each other.
#pragma once

#include <cstdint>

namespace cairn {

enum class MixStrategy : uint8_t {
  concat,            // one after the other, in the order named
  interleave_under,  // in turn, until one is through
  interleave_over,   // until all are through, the short ones repeated
  interleave_once    // until every row came once
};

}  // namespace cairn
