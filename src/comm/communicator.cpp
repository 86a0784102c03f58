#include "comm/communicator.h"

#include <chrono>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"
#include "comm/rank_sum.h"

namespace cairn {
namespace {

// FNV-1a over the bytes of a number.
uint64_t hashed(uint64_t hash, int64_t number) {
  for (int i = 0; i < 8; ++i) {
    hash ^= static_cast<uint64_t>(number) >> (8 * i) & 0xff;
    hash *= 1099511628211ULL;
  }
  return hash;
}

// One share: the whole.
SharedPart undivided(View view) {
  const View flat = view.view_as({view.elements()});
  return {flat, flat, flat.rows()};
}

}  // namespace

SharedPart share_in_place(View whole, int64_t share_elements, int rank) {
  SharedPart part{whole.view_as({whole.elements()}), {}, share_elements};
  part.share = part.of_rank(rank);
  return part;
}

int64_t Traffic::elements() const {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const Count& count) { return sum + count.elements; });
}

int64_t Traffic::bytes() const {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const Count& count) { return sum + count.bytes; });
}

Pending& Pending::operator=(Pending&& other) noexcept {
  Pending ended(std::move(*this));
  communicator_ = std::exchange(other.communicator_, nullptr);
  ticket_ = other.ticket_;
  return *this;
}

Pending::~Pending() {
  try {
    wait();
  } catch (...) {
    // Later transfers fail as well, whatever the failure: whoever waits for one of them will hear
    // of it.
  }
}

void Pending::wait() {
  Communicator* const communicator = std::exchange(communicator_, nullptr);
  if (!communicator) return;
  const auto begin = std::chrono::steady_clock::now();
  communicator->wait(ticket_);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  communicator->waited_seconds_ += waited.count();
}

int64_t Communicator::scratch_bytes() const {
  return world_.size > 1 ? world_.size * kSumChunkBytes : 0;
}

Pending Communicator::start_reduce_scatter(std::vector<SharedPart> parts, bool accumulates) {
  return start_counted({Collective::reduce_scatter, std::move(parts), accumulates});
}

Pending Communicator::start_all_gather(std::vector<SharedPart> parts) {
  return start_counted({Collective::all_gather, std::move(parts)});
}

Pending Communicator::start_all_reduce(std::vector<SharedPart> parts) {
  return start_counted({Collective::all_reduce, std::move(parts)});
}

Pending Communicator::start_broadcast(View view, int from) {
  return start_counted({Collective::broadcast, {undivided(view)}, false, from, from});
}

Pending Communicator::start_send(View view, int from, int to) {
  return start_counted({Collective::send, {undivided(view)}, false, from, to});
}

void Communicator::barrier() { start_counted({}).wait(); }

void Communicator::sum(std::span<double> numbers) {
  const View view(reinterpret_cast<std::byte*>(numbers.data()), DType::f64,
                  {static_cast<int64_t>(numbers.size())});
  start_all_reduce({share_in_place(view, ceil_div(view.rows(), world_.size), world_.rank)}).wait();
}

std::vector<double> Communicator::exchange(double number) {
  std::vector<double> numbers(static_cast<size_t>(world_.size), 0.0);
  numbers[static_cast<size_t>(world_.rank)] = number;
  sum(numbers);
  return numbers;
}

Pending Communicator::start_counted(Transfer transfer) {
  for (const SharedPart& part : transfer.parts) {
    CAIRN_CHECK(part.share_elements * world_.size >= part.whole.rows(),
                "[{}] wanted {} shares of {} elements to cover {}", name_of(transfer.kind),
                world_.size, part.share_elements, part.whole.rows());
    CAIRN_CHECK(transfer.kind == Collective::broadcast || transfer.kind == Collective::send ||
                    part.share.elements() == part.size_of(world_.rank),
                "[{}] wanted a share of {} elements, got {}", name_of(transfer.kind),
                part.size_of(world_.rank), part.share.elements());
  }
  count(transfer);
  return {*this, start(std::move(transfer))};
}

// Each rank sends its share, or its part of the others' shares, to each of the others.
void Communicator::count(const Transfer& transfer) {
  schedule_hash_ = hashed(schedule_hash_, static_cast<int64_t>(transfer.kind));
  schedule_hash_ = hashed(schedule_hash_, transfer.accumulates);
  schedule_hash_ = hashed(schedule_hash_, int64_t{transfer.from} << 32 | transfer.to);
  Traffic::Count& sent = traffic_.counts[static_cast<size_t>(transfer.kind)];
  ++sent.transfers;
  const int64_t others = world_.size - 1;
  for (const SharedPart& part : transfer.parts) {
    const int64_t n = part.whole.rows(), own = part.size_of(world_.rank);
    schedule_hash_ = hashed(schedule_hash_, n);
    schedule_hash_ = hashed(schedule_hash_, part.share_elements);
    schedule_hash_ = hashed(schedule_hash_, static_cast<int64_t>(part.whole.dtype()));
    int64_t elements = 0;
    switch (transfer.kind) {
      case Collective::all_gather:
        elements = own * others;
        break;
      case Collective::reduce_scatter:
        elements = n - own;
        break;
      case Collective::all_reduce:
        elements = n - own + own * others;
        break;
      case Collective::broadcast:
        elements = transfer.from == world_.rank ? n * others : 0;
        break;
      case Collective::send:
        elements = transfer.from == world_.rank && transfer.to != world_.rank ? n : 0;
        break;
      case Collective::barrier:
        break;
    }
    sent.elements += elements;
    sent.bytes += bytes_of(part.whole.dtype(), elements);
  }
}

}  // namespace cairn
