#include "comm/threads/thread_ranks.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "comm/rank_sum.h"
#include "comm/transfer_queue.h"

namespace cairn {

class ThreadRanks::Rank : public Communicator {
 public:
  Rank(std::shared_ptr<ThreadRanks> ranks, World world)
      : Communicator(world),
        ranks_(std::move(ranks)),
        queue_([this](const Transfer& transfer) { ranks_->perform(rank(), transfer); }) {}
  ~Rank() override { ranks_->leave(rank()); }
  double busy_seconds() override { return queue_.busy_seconds(); }

 private:
  int64_t start(Transfer transfer) override { return queue_.start(std::move(transfer)); }
  void wait(int64_t ticket) override { queue_.wait(ticket); }

  std::shared_ptr<ThreadRanks> ranks_;
  TransferQueue queue_;
};

ThreadRanks::ThreadRanks(int size, std::chrono::milliseconds timeout)
    : timeout_(timeout),
      transfers_(static_cast<size_t>(size)),
      meetings_(static_cast<size_t>(size)),
      gone_(static_cast<size_t>(size)) {}

std::unique_ptr<Communicator> ThreadRanks::open(std::shared_ptr<ThreadRanks> ranks, int rank) {
  const int size = ranks->size();
  CAIRN_CHECK(rank >= 0 && rank < size, "[thread ranks] wanted a rank below {}, got {}", size,
              rank);
  return std::make_unique<Rank>(std::move(ranks), World{rank, size});
}

void ThreadRanks::leave(int rank) {
  const std::lock_guard lock(mutex_);
  gone_[static_cast<size_t>(rank)] = true;
  changed_.notify_all();
}

void ThreadRanks::meet(int rank, const Transfer& transfer, Meeting meeting) {
  std::unique_lock lock(mutex_);
  if (meeting == Meeting::first)
    transfers_[static_cast<size_t>(rank)] = &transfer;
  else
    --readers_;
  const int64_t number = ++meetings_[static_cast<size_t>(rank)];
  changed_.notify_all();
  const auto missing = [&] {
    return std::find_if(meetings_.begin(), meetings_.end(),
                        [&](int64_t met) { return met < number; }) -
           meetings_.begin();
  };
  const auto is_gone = [&] { return missing() < size() && gone_[static_cast<size_t>(missing())]; };
  const bool late = !given_up_.empty();
  changed_.wait_for(lock, timeout_,
                    [&] { return !given_up_.empty() || missing() == size() || is_gone(); });
  if (late)
    give_up(lock, fmt::format("rank {} came to the {} of {} ranks when it was given up: {}", rank,
                              name_of(transfer.kind), size(), given_up_));
  // Another rank has seen first who is missing, perhaps after a wait of its own.
  if (!given_up_.empty()) give_up(lock, given_up_);
  if (missing() < size())
    give_up(lock, fmt::format(
                      "rank {} {} before the {} of {} ranks that rank {} is in; look at what rank "
                      "{} said",
                      missing(),
                      is_gone() ? "ended"
                                : fmt::format("did not answer within {} s",
                                              std::chrono::duration<double>(timeout_).count()),
                      name_of(transfer.kind), size(), rank, missing()));
  if (meeting != Meeting::last) ++readers_;
}

void ThreadRanks::give_up(std::unique_lock<std::mutex>& lock, const std::string& why) {
  if (given_up_.empty()) given_up_ = why;
  changed_.notify_all();
  // One that never comes back must not keep the others for ever.
  changed_.wait_for(lock, timeout_, [&] { return readers_ == 0; });
  throw CommError(why);
}

void ThreadRanks::perform(int rank, const Transfer& transfer) {
  meet(rank, transfer, Meeting::first);
  if (const std::string difference = compare(rank, transfer); !difference.empty()) {
    // Everyone has looked before anyone goes.
    meet(rank, transfer, Meeting::last);
    throw CommError(difference);
  }
  switch (transfer.kind) {
    case Collective::all_reduce:
      reduce(rank, transfer);
      meet(rank, transfer, Meeting::within);
      gather(transfer);
      break;
    case Collective::reduce_scatter:
      reduce(rank, transfer);
      break;
    case Collective::all_gather:
      gather(transfer);
      break;
    case Collective::broadcast:
    case Collective::send: {
      const bool receives = transfer.kind == Collective::broadcast || transfer.to == rank;
      const Transfer& source = *transfers_[static_cast<size_t>(transfer.from)];
      if (receives && rank != transfer.from)
        std::memcpy(transfer.parts[0].whole.data(), source.parts[0].whole.data(),
                    static_cast<size_t>(transfer.parts[0].whole.bytes()));
      break;
    }
    case Collective::barrier:
      break;
  }
  // Nobody goes on to change what another still reads.
  meet(rank, transfer, Meeting::last);
}

std::string ThreadRanks::compare(int rank, const Transfer& transfer) const {
  for (int other = 0; other < size(); ++other) {
    const Transfer& its = *transfers_[static_cast<size_t>(other)];
    const bool alike = its.kind == transfer.kind && its.accumulates == transfer.accumulates &&
                       its.from == transfer.from && its.to == transfer.to &&
                       its.parts.size() == transfer.parts.size() &&
                       std::equal(its.parts.begin(), its.parts.end(), transfer.parts.begin(),
                                  [](const SharedPart& a, const SharedPart& b) {
                                    return a.whole.dtype() == b.whole.dtype() &&
                                           a.whole.rows() == b.whole.rows() &&
                                           a.share_elements == b.share_elements;
                                  });
    if (!alike)
      return fmt::format(
          "rank {} wants a {} where rank {} wants a {} of other tensors or between other ranks; "
          "give every rank the same recipe, data and program",
          rank, name_of(transfer.kind), other, name_of(its.kind));
  }
  return {};
}

void ThreadRanks::gather(const Transfer& transfer) const {
  for (size_t p = 0; p < transfer.parts.size(); ++p) {
    const SharedPart& part = transfer.parts[p];
    for (int other = 0; other < size(); ++other) {
      const View from = transfers_[static_cast<size_t>(other)]->parts[p].share;
      const View to = part.of_rank(other);
      if (from.data() != to.data() && to.bytes() > 0)
        std::memcpy(to.data(), from.data(), static_cast<size_t>(to.bytes()));
    }
  }
}

void ThreadRanks::reduce(int rank, const Transfer& transfer) const {
  std::vector<ConstView> terms(transfers_.size());
  for (size_t p = 0; p < transfer.parts.size(); ++p) {
    for (size_t other = 0; other < transfers_.size(); ++other)
      terms[other] = transfers_[other]->parts[p].of_rank(rank);
    if (transfer.parts[p].size_of(rank) > 0)
      sum_in_rank_order(terms, transfer.accumulates, transfer.parts[p].share);
  }
}

}  // namespace cairn
