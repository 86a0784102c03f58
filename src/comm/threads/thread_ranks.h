// ThreadRanks: the ranks of one process, each driven by a thread of its own. A rank reads what the
// others share straight from their memory. For tests, and for what one process can show of many.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace cairn {

class ThreadRanks {
 public:
  // A rank that does not come within `timeout` is lost.
  ThreadRanks(int size, std::chrono::milliseconds timeout);

  int size() const { return static_cast<int>(transfers_.size()); }
  // One of them, which keeps the others' meeting place. Its end tells them that the rank is gone.
  static std::unique_ptr<Communicator> open(std::shared_ptr<ThreadRanks> ranks, int rank);

 private:
  class Rank;
  // Waits until every rank has come here. Up to its next meeting a rank then reads the transfers of
  // all, unless this is the last one of a transfer. Throws CommError naming a rank that is gone or
  // late, once nobody reads any more.
  enum class Meeting : uint8_t { first, within, last };
  void meet(int rank, const Transfer& transfer, Meeting meeting);
  [[noreturn]] void give_up(std::unique_lock<std::mutex>& lock, const std::string& why);
  void leave(int rank);
  void perform(int rank, const Transfer& transfer);
  // Empty if all ranks want the same.
  std::string compare(int rank, const Transfer& transfer) const;
  void gather(const Transfer& transfer) const;
  void reduce(int rank, const Transfer& transfer) const;

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const Transfer*> transfers_;  // of each rank, at the latest meeting
  std::vector<int64_t> meetings_;           // of each rank
  std::vector<bool> gone_;
  int readers_ = 0;       // ranks between two meetings of a transfer
  std::string given_up_;  // why, once a rank was lost: its memory may go as soon as nobody reads
};

}  // namespace cairn
