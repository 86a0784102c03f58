// TransferQueue: one thread that performs transfers in the order they were started, so that they
// run beside computing. The first failure is that of all later ones.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "comm/communicator.h"

namespace cairn {

class TransferQueue {
 public:
  using Perform = std::function<void(const Transfer&)>;
  // `begin` and `end` run on the thread too, before the first transfer and after the last one;
  // `end` unless one failed. Throws what `begin` throws.
  explicit TransferQueue(Perform perform, const std::function<void()>& begin = {},
                         std::function<void()> end = {});
  ~TransferQueue();
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;

  int64_t start(Transfer transfer);
  void wait(int64_t ticket);
  // That transfers took so far.
  double busy_seconds();

 private:
  void run(const std::function<void()>& begin);

  Perform perform_;
  std::function<void()> end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Transfer> queue_;  // the front one is under way
  int64_t started_ = 0, finished_ = 0;
  double busy_seconds_ = 0;
  std::exception_ptr failure_;
  bool ready_ = false, closing_ = false;
  std::thread worker_;
};

}  // namespace cairn
