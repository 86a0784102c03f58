// Ranks that are processes, over MPI. Open MPI makes no progress by itself, so one thread owns it:
// it performs the transfers and polls until each is over. Messages go straight from and to the
// tensors; terms of sums pass through the lent scratch, a chunk of each rank at a time.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/bytes.h"
#include "base/error.h"
#include "comm/rank_sum.h"
#include "comm/registry.h"
#include "comm/transfer_queue.h"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

// MPI counts in int.
constexpr int64_t kMostMessageBytes = int64_t{1} << 30;
constexpr int kTag = 1;
// Elements of a sum at a time while no scratch is lent: numbers, not tensors.
constexpr int64_t kFewElements = 64;
constexpr auto kPause = std::chrono::microseconds(20);
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(fmt::format("MPI could not {}: {}", what,
                              std::string_view(text, static_cast<size_t>(length))));
}

class MpiRank : public Communicator {
 public:
  MpiRank(World world, const std::function<void()>& begin, std::function<void()> end,
          std::chrono::seconds timeout)
      : Communicator(world),
        timeout_(timeout),
        queue_([this](const Transfer& transfer) { perform(transfer); },
               [this, &begin] {
                 begin();
                 check_world();
                 numbers_.resize(static_cast<size_t>(world_size() * kFewElements * 8));
                 exchange_processes();
               },
               std::move(end)) {}

  double busy_seconds() override { return queue_.busy_seconds(); }

 private:
  int64_t start(Transfer transfer) override { return queue_.start(std::move(transfer)); }
  void wait(int64_t ticket) override { queue_.wait(ticket); }

  // All below runs on the thread of the queue.
  void check_world() const {
    int number = 0, size = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (number != rank() || size != world_size())
      throw CommError(fmt::format(
          "the launcher speaks of rank {} of {}, and MPI of rank {} of {}; start Cairn with the "
          "mpirun of the Open MPI that it is built with",
          rank(), world_size(), number, size));
  }

  // Which processes of this machine are ranks, so that one that ends is seen at once.
  void exchange_processes() {
    processes_.assign(static_cast<size_t>(world_size()), 0);
    MPI_Comm here;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &here),
          "find the ranks of this machine");
    int size_here = 0;
    MPI_Comm_size(here, &size_here);
    const int mine[2] = {rank(), static_cast<int>(getpid())};
    std::vector<int> all(static_cast<size_t>(2 * size_here));
    check(MPI_Allgather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, here), "exchange processes");
    for (size_t i = 0; i < all.size(); i += 2) processes_[static_cast<size_t>(all[i])] = all[i + 1];
    MPI_Comm_free(&here);
  }

  void perform(const Transfer& transfer) {
    moved_ = Clock::now();
    kind_ = transfer.kind;
    switch (transfer.kind) {
      case Collective::all_reduce:
        for (const SharedPart& part : transfer.parts) reduce(part, false);
        gather(transfer);
        break;
      case Collective::reduce_scatter:
        for (const SharedPart& part : transfer.parts) reduce(part, transfer.accumulates);
        break;
      case Collective::all_gather:
        gather(transfer);
        break;
      case Collective::broadcast:
        for (int other = 0; other < world_size(); ++other)
          if (other != transfer.from && (rank() == transfer.from || rank() == other))
            exchange(transfer.parts[0].whole, transfer.from, other);
        break;
      case Collective::send:
        if (transfer.from != transfer.to)
          exchange(transfer.parts[0].whole, transfer.from, transfer.to);
        break;
      case Collective::barrier:
        tokens_.resize(static_cast<size_t>(world_size()));
        for (int other = 0; other < world_size(); ++other) {
          if (other == rank()) continue;
          send(View(&tokens_[static_cast<size_t>(rank())], DType::u8, {1}), other);
          receive(View(&tokens_[static_cast<size_t>(other)], DType::u8, {1}), other);
        }
        break;
    }
    finish();
  }

  void exchange(View view, int from, int to) {
    if (rank() == from) send(view, to);
    if (rank() == to) receive(view, from);
  }

  void gather(const Transfer& transfer) {
    for (const SharedPart& part : transfer.parts) {
      const View own = part.of_rank(rank());
      if (own.bytes() > 0 && own.data() != part.share.data())
        std::copy_n(part.share.data(), own.bytes(), own.data());
      for (int other = 0; other < world_size(); ++other) {
        if (other == rank()) continue;
        send(part.share, other);
        receive(part.of_rank(other), other);
      }
    }
    finish();
  }

  // Everyone sends a chunk to everyone, and adds what came, in the order of ranks.
  void reduce(const SharedPart& part, bool accumulates) {
    std::byte* const room = scratch() ? scratch().data() : numbers_.data();
    const int64_t most = scratch() ? kSumChunk : kFewElements;
    const int64_t chunks = ceil_div(part.size_of(0), most);
    std::vector<ConstView> terms(static_cast<size_t>(world_size()));
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const auto piece = [&](View share) {
        const int64_t begin = std::min(share.rows(), chunk * most);
        return share.view_rows(begin, std::min(most, share.rows() - begin));
      };
      const View own = piece(part.of_rank(rank()));
      for (int other = 0; other < world_size(); ++other) {
        View term = own;
        if (other != rank()) {
          term = View(room + other * most * 8, own.dtype(), own.shape());
          send(piece(part.of_rank(other)), other);
          receive(term, other);
        }
        terms[static_cast<size_t>(other)] = term;
      }
      finish();
      if (own.rows() > 0) sum_in_rank_order(terms, accumulates, piece(part.share));
    }
  }

  void send(ConstView view, int to) {
    for (int64_t begin = 0; begin < view.bytes(); begin += kMostMessageBytes) {
      const int64_t count = std::min(kMostMessageBytes, view.bytes() - begin);
      MPI_Request request;
      check(MPI_Isend(view.data() + begin, static_cast<int>(count), MPI_BYTE, to, kTag,
                      MPI_COMM_WORLD, &request),
            "send");
      requests_.push_back({request, to});
    }
  }

  void receive(View view, int from) {
    for (int64_t begin = 0; begin < view.bytes(); begin += kMostMessageBytes) {
      const int64_t count = std::min(kMostMessageBytes, view.bytes() - begin);
      MPI_Request request;
      check(MPI_Irecv(view.data() + begin, static_cast<int>(count), MPI_BYTE, from, kTag,
                      MPI_COMM_WORLD, &request),
            "receive");
      requests_.push_back({request, from});
    }
  }

  // Polls until every message is through.
  void finish() {
    auto looked = Clock::now();
    for (int64_t round = 0; !requests_.empty(); ++round) {
      const size_t through = std::erase_if(requests_, [](Request& request) {
        int done = 0;
        check(MPI_Test(&request.request, &done, MPI_STATUS_IGNORE), "exchange");
        return done != 0;
      });
      if (through > 0) moved_ = Clock::now();
      if (requests_.empty()) return;
      if (const auto now = Clock::now(); now - looked > kBetweenLooks) {
        looked = now;
        look_for_lost_ranks(now);
      }
      if (round > 100)
        std::this_thread::sleep_for(kPause);
      else
        std::this_thread::yield();
    }
  }

  void look_for_lost_ranks(Clock::time_point now) const {
    for (const Request& request : requests_) {
      const int process = processes_[static_cast<size_t>(request.peer)];
      if (process != 0 && has_ended(process)) throw_lost(request.peer, "ended");
    }
    if (now - moved_ > timeout_)
      throw_lost(requests_.front().peer,
                 fmt::format("did not answer within ddp_timeout, {} s", timeout_.count()));
  }

  // A process that nobody has waited for yet is still listed.
  static bool has_ended(int process) {
    if (::kill(process, 0) != 0) return errno == ESRCH;
    const std::string path = fmt::format("/proc/{}/stat", process);
    FILE* const file = std::fopen(path.c_str(), "r");
    if (!file) return false;
    char text[256] = {};
    const size_t count = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    const std::string_view line(text, count);
    const size_t name_end = line.rfind(')');
    return name_end != std::string_view::npos && name_end + 2 < line.size() &&
           (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X');
  }

  [[noreturn]] void throw_lost(int peer, const std::string& how) const {
    throw CommError(
        fmt::format("rank {} {} during the {} that rank {} is in; look at what rank {} said", peer,
                    how, name_of(kind_), rank(), peer));
  }

  struct Request {
    MPI_Request request;
    int peer;
  };

  std::chrono::seconds timeout_;
  std::vector<std::byte> numbers_;  // [ranks, kFewElements * 8]
  std::vector<int> processes_;      // of each rank on this machine; 0 elsewhere
  std::vector<Request> requests_;
  Clock::time_point moved_;  // when a message was last through, or a transfer began
  Collective kind_ = Collective::barrier;
  std::vector<std::byte> tokens_;  // one a rank, of barriers
  TransferQueue queue_;
};

}  // namespace

std::unique_ptr<Communicator> open_mpi_rank(World world, const std::function<void()>& begin,
                                            std::function<void()> end, int64_t timeout_seconds) {
  // Three hundred years are enough, and fit a clock.
  constexpr int64_t kMost = 9'000'000'000;
  return std::make_unique<MpiRank>(world, begin, std::move(end),
                                   std::chrono::seconds(std::min(timeout_seconds, kMost)));
}

}  // namespace cairn
