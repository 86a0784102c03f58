// Communicator: how the ranks of a run exchange tensors. Every rank starts the same transfers in
// the same order; sums add up in the order of ranks, so no result depends on timing. What was sent
// is counted, and the list of transfers is hashed, so that ranks can compare what they will do.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/view.h"

namespace cairn {

// Which rank of how many.
struct World {
  int rank = 0;
  int size = 1;
  bool operator==(const World&) const = default;
};

enum class Collective : uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  send,
  barrier
};
inline constexpr int kNumCollectives = 6;
constexpr std::string_view name_of(Collective kind) {
  constexpr std::array<std::string_view, kNumCollectives> names = {
      "all-reduce", "reduce-scatter", "all-gather", "broadcast", "send", "barrier"};
  return names[static_cast<size_t>(kind)];
}

// A tensor of which each rank has a share: rank r the elements from r * share_elements on, as many
// as that or up to the end.
struct SharedPart {
  View whole;                  // [n]
  View share;                  // [size of this rank's share], its own memory or a piece of `whole`
  int64_t share_elements = 0;  // of every rank but the last ones, which may have fewer or none

  int64_t begin_of(int rank) const { return std::min(whole.rows(), rank * share_elements); }
  int64_t size_of(int rank) const { return begin_of(rank + 1) - begin_of(rank); }
  View of_rank(int rank) const { return whole.view_rows(begin_of(rank), size_of(rank)); }
};
// `whole` [n] in shares of `share_elements`, each in its place.
SharedPart share_in_place(View whole, int64_t share_elements, int rank);

// One exchange between all ranks. Its memory stays as it is until the transfer is over.
struct Transfer {
  Collective kind = Collective::barrier;
  std::vector<SharedPart> parts;
  bool accumulates = false;  // reduce_scatter: adds to what the share holds
  int from = 0, to = 0;      // of broadcast and send
};

// What this rank has sent to others.
struct Traffic {
  struct Count {
    int64_t transfers = 0, elements = 0, bytes = 0;
  };
  std::array<Count, kNumCollectives> counts{};
  const Count& of(Collective kind) const { return counts[static_cast<size_t>(kind)]; }
  int64_t elements() const;
  int64_t bytes() const;
};

class Communicator;

// A transfer under way. Its end waits, because the memory must outlive the transfer.
class Pending {
 public:
  Pending() = default;
  Pending(Communicator& communicator, int64_t ticket)
      : communicator_(&communicator), ticket_(ticket) {}
  Pending(Pending&& other) noexcept
      : communicator_(std::exchange(other.communicator_, nullptr)), ticket_(other.ticket_) {}
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  // Throws CommError if the transfer, or one before it, failed.
  void wait();
  explicit operator bool() const { return communicator_ != nullptr; }

 private:
  Communicator* communicator_ = nullptr;
  int64_t ticket_ = 0;
};

class Communicator {
 public:
  explicit Communicator(World world) : world_(world) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  World world() const { return world_; }
  int rank() const { return world_.rank; }
  int world_size() const { return world_.size; }

  // Memory that sums of tensors pass through, to be lent before the first of them. Without it a
  // transport has room for a few numbers. One rank needs none.
  int64_t scratch_bytes() const;
  void lend_scratch(View scratch) { scratch_ = scratch; }

  // share (or, accumulating, share +) = sum over ranks of their `whole`. f32, bf16 or f64; added in
  // the wider of f32 and the type, rounded once.
  Pending start_reduce_scatter(std::vector<SharedPart> parts, bool accumulates = false);
  // whole = the shares of all ranks. Any type.
  Pending start_all_gather(std::vector<SharedPart> parts);
  // whole = sum over ranks of their `whole`; every share in its place.
  Pending start_all_reduce(std::vector<SharedPart> parts);
  // Every rank's view = that of `from`.
  Pending start_broadcast(View view, int from);
  // The view of rank `to` = that of `from`; the others have nothing to do.
  Pending start_send(View view, int from, int to);
  // Returns once every rank has come here.
  void barrier();
  // Numbers on the host, added up over ranks.
  void sum(std::span<double> numbers);
  // What each rank gave, in the order of ranks.
  std::vector<double> exchange(double number);

  const Traffic& traffic() const { return traffic_; }
  void reset_traffic() { traffic_ = {}; }
  // Time that transfers took, and that their users waited for them: the rest was hidden behind
  // computing.
  virtual double busy_seconds() { return 0; }
  double waited_seconds() const { return waited_seconds_; }
  // Of kinds, types and sizes of all transfers so far, and of their order.
  uint64_t schedule_hash() const { return schedule_hash_; }

 protected:
  // Transfers run in the order they were started.
  virtual int64_t start(Transfer transfer) = 0;
  virtual void wait(int64_t ticket) = 0;
  View scratch() const { return scratch_; }

 private:
  friend class Pending;
  Pending start_counted(Transfer transfer);
  void count(const Transfer& transfer);

  World world_;
  View scratch_;
  Traffic traffic_;
  double waited_seconds_ = 0;
  uint64_t schedule_hash_ = 14695981039346656037ULL;
};

}  // namespace cairn
