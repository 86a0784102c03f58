// PageFile: the page store of a CPU: a file without a name, written and read past the page cache by
// one thread, so that moves overlap with computing and never grow the process.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "memory/page_store.h"

namespace cairn {

class PageFile : public PageStore {
 public:
  // Opens a file in `folder` that vanishes with the process. Throws UserError if it cannot.
  explicit PageFile(const std::string& folder);
  ~PageFile() override;
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  void reserve(int64_t bytes) override;
  Ticket start_write(int64_t offset, const std::byte* from, int64_t bytes) override;
  Ticket start_read(int64_t offset, std::byte* to, int64_t bytes) override;
  void wait(Ticket ticket) override;

 private:
  struct Move {
    bool writes = false;
    int64_t offset = 0, bytes = 0;
    std::byte* memory = nullptr;
  };

  Ticket start(const Move& move);
  void run();
  // Empty if all went well.
  std::string perform(const Move& move) const;

  std::string folder_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Move> queue_;  // the front one is under way
  Ticket started_ = 0, finished_ = 0;
  std::string failure_;  // of the first move that failed
  bool closing_ = false;
  std::thread worker_;
};

}  // namespace cairn
