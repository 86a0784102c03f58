#include "comm/transfer_queue.h"

#include <chrono>

namespace cairn {

TransferQueue::TransferQueue(Perform perform, const std::function<void()>& begin,
                             std::function<void()> end)
    : perform_(std::move(perform)), end_(std::move(end)) {
  worker_ = std::thread([this, begin] { run(begin); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_; });
  if (!failure_) return;
  closing_ = true;
  lock.unlock();
  changed_.notify_all();
  worker_.join();
  std::rethrow_exception(failure_);
}

TransferQueue::~TransferQueue() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

int64_t TransferQueue::start(Transfer transfer) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(transfer));
  changed_.notify_all();
  return ++started_;
}

void TransferQueue::wait(int64_t ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ >= ticket; });
  if (failure_) std::rethrow_exception(failure_);
}

double TransferQueue::busy_seconds() {
  const std::lock_guard lock(mutex_);
  return busy_seconds_;
}

void TransferQueue::run(const std::function<void()>& begin) {
  std::exception_ptr failure;
  try {
    if (begin) begin();
  } catch (...) {
    failure = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  failure_ = failure;
  ready_ = true;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) break;
    // Nobody adds to the front, and references into a deque outlive what is added behind.
    const Transfer& transfer = queue_.front();
    if (!failure_) {
      lock.unlock();
      const auto begin_of_it = std::chrono::steady_clock::now();
      try {
        perform_(transfer);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_of_it;
      lock.lock();
      busy_seconds_ += took.count();
      failure_ = failure;
    }
    queue_.pop_front();
    ++finished_;
    changed_.notify_all();
  }
  const bool failed = failure_ != nullptr;
  lock.unlock();
  if (end_ && !failed) end_();
}

}  // namespace cairn
