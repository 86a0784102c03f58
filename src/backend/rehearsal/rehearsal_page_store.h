// A page store that moves nothing and counts what it is asked to move.
#pragma once

#include "memory/page_store.h"

namespace cairn {

class RehearsalPageStore : public PageStore {
 public:
  void reserve(int64_t) override {}
  Ticket start_write(int64_t, const std::byte*, int64_t bytes) override { return count(bytes); }
  Ticket start_read(int64_t, std::byte*, int64_t bytes) override { return count(bytes); }
  void wait(Ticket) override {}

  double bytes_moved() const { return bytes_moved_; }
  void reset() { bytes_moved_ = 0; }

 private:
  Ticket count(int64_t bytes) {
    bytes_moved_ += static_cast<double>(bytes);
    return 0;
  }
  double bytes_moved_ = 0;
};

}  // namespace cairn
