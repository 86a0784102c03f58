// What transfers must do, whoever carries them: sums in the order of ranks, shares where they
// belong, and a sentence when a rank is lost.
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "comm/rank_sum.h"
#include "comm/registry.h"
#include "numeric/bfloat16.h"
#include "support/thread_ranks_run.h"

namespace cairn::test {
namespace {

View view_of(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()),
          DType::f32,
          {static_cast<int64_t>(values.size())}};
}

std::vector<float> numbers_of(int rank, int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    numbers[static_cast<size_t>(i)] =
        Random(7, static_cast<uint64_t>(rank)).normal(static_cast<uint64_t>(i));
  return numbers;
}

// ((r0 + r1) + r2) + ..., in f32.
std::vector<float> sum_of(int size, int64_t count) {
  std::vector<float> sum = numbers_of(0, count);
  for (int rank = 1; rank < size; ++rank) {
    const std::vector<float> more = numbers_of(rank, count);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  return sum;
}

class ThreadRanksTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadRanksTest, reduce_scatter_adds_in_the_order_of_ranks) {
  const int size = GetParam();
  for (const int64_t count : {1, 5, 1000, 5000}) {
    const std::vector<float> sum = sum_of(size, count);
    const int64_t share = ceil_div(count, size);
    run_on_threads(size, [&](Communicator& ranks) {
      std::vector<float> whole = numbers_of(ranks.rank(), count);
      std::vector<float> own(static_cast<size_t>(share), 0.5f);
      SharedPart part{view_of(whole), {}, share};
      part.share = view_of(own).view_rows(0, part.size_of(ranks.rank()));
      ranks.start_reduce_scatter({part}, true).wait();
      for (int64_t i = 0; i < part.share.rows(); ++i) {
        const auto at = static_cast<size_t>(part.begin_of(ranks.rank()) + i);
        EXPECT_EQ(own[static_cast<size_t>(i)], 0.5f + sum[at]);
      }
      EXPECT_EQ(whole, numbers_of(ranks.rank(), count));
    });
  }
}

TEST_P(ThreadRanksTest, all_reduce_leaves_one_sum_everywhere) {
  const int size = GetParam();
  run_on_threads(size, [&](Communicator& ranks) {
    std::vector<float> whole = numbers_of(ranks.rank(), 777);
    // The last rank may have nothing.
    const int64_t share = round_up(ceil_div(777, size), 300);
    ranks.start_all_reduce({share_in_place(view_of(whole), share, ranks.rank())}).wait();
    EXPECT_EQ(whole, sum_of(size, 777));
  });
}

// In place and into another tensor, of codes of half a byte too; several parts in one transfer.
TEST_P(ThreadRanksTest, all_gather_puts_shares_where_they_belong) {
  const int size = GetParam();
  run_on_threads(size, [&](Communicator& ranks) {
    const int64_t count = 1001, share = ceil_div(count, size);
    std::vector<float> expected = numbers_of(9, count), whole(expected.size());
    SharedPart floats = share_in_place(view_of(whole), share, ranks.rank());
    const int64_t begin = floats.begin_of(ranks.rank());
    std::copy_n(expected.begin() + begin, floats.share.rows(), whole.begin() + begin);

    std::vector<std::byte> codes(100), own(100);
    const int64_t code_share = round_up(ceil_div(200, size), 2);
    SharedPart halves{View(codes.data(), DType::u4, {200}), {}, code_share};
    halves.share = View(own.data(), DType::u4, {halves.size_of(ranks.rank())});
    for (int64_t i = 0; i < halves.share.bytes(); ++i)
      own[static_cast<size_t>(i)] = static_cast<std::byte>(halves.begin_of(ranks.rank()) / 2 + i);
    ranks.start_all_gather({floats, halves}).wait();
    EXPECT_EQ(whole, expected);
    for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], static_cast<std::byte>(i));
  });
}

TEST_P(ThreadRanksTest, broadcast_send_and_sums_of_numbers) {
  const int size = GetParam();
  run_on_threads(size, [&](Communicator& ranks) {
    std::vector<float> values = numbers_of(ranks.rank(), 10);
    ranks.start_broadcast(view_of(values), size - 1).wait();
    EXPECT_EQ(values, numbers_of(size - 1, 10));
    std::vector<float> sent = numbers_of(ranks.rank(), 3);
    ranks.start_send(view_of(sent), size - 1, 0).wait();
    EXPECT_EQ(sent, numbers_of(ranks.rank() == 0 ? size - 1 : ranks.rank(), 3));
    const std::vector<double> given = ranks.exchange(ranks.rank() + 0.5);
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(given[static_cast<size_t>(rank)], rank + 0.5);
    ranks.barrier();
  });
}

// The volumes of a ring: every rank sends (n - 1) / n of what it scatters or gathers.
TEST_P(ThreadRanksTest, what_is_sent_is_counted) {
  const int size = GetParam();
  run_on_threads(size, [&](Communicator& ranks) {
    std::vector<float> whole = numbers_of(ranks.rank(), 1200);
    const SharedPart part = share_in_place(view_of(whole), 1200 / size, ranks.rank());
    ranks.start_reduce_scatter({part}).wait();
    ranks.start_all_gather({part}).wait();
    ranks.start_all_reduce({part}).wait();
    const int64_t once = 1200 * (size - 1) / size;
    EXPECT_EQ(ranks.traffic().of(Collective::reduce_scatter).elements, once);
    EXPECT_EQ(ranks.traffic().of(Collective::all_gather).elements, once);
    EXPECT_EQ(ranks.traffic().of(Collective::all_reduce).elements, 2 * once);
    EXPECT_EQ(ranks.traffic().bytes(), 4 * ranks.traffic().elements());
    // A rehearsed rank counts the same and hashes the same list.
    const auto rehearsed = open_rehearsal_rank(ranks.world());
    rehearsed->start_reduce_scatter({part});
    rehearsed->start_all_gather({part});
    rehearsed->start_all_reduce({part});
    EXPECT_EQ(rehearsed->traffic().elements(), ranks.traffic().elements());
    EXPECT_EQ(rehearsed->schedule_hash(), ranks.schedule_hash());
    rehearsed->start_all_gather({part});
    EXPECT_NE(rehearsed->schedule_hash(), ranks.schedule_hash());
  });
}

INSTANTIATE_TEST_SUITE_P(sizes, ThreadRanksTest, ::testing::Values(1, 2, 3, 4));

// What one bf16 addition rounds is rounded once here, over all ranks.
TEST(RankSum, of_bf16_rounds_once) {
  std::vector<std::vector<bf16>> terms(3, std::vector<bf16>(100));
  std::vector<ConstView> views;
  for (size_t r = 0; r < terms.size(); ++r) {
    for (size_t i = 0; i < 100; ++i) terms[r][i] = to_bf16(Random(3, r).normal(i));
    views.emplace_back(reinterpret_cast<const std::byte*>(terms[r].data()), DType::bf16,
                       Shape{100});
  }
  std::vector<bf16> out(100);
  sum_in_rank_order(views, false,
                    View(reinterpret_cast<std::byte*>(out.data()), DType::bf16, {100}));
  for (size_t i = 0; i < 100; ++i)
    EXPECT_EQ(out[i].bits,
              to_bf16(to_float(terms[0][i]) + to_float(terms[1][i]) + to_float(terms[2][i])).bits);
}

std::string error_of(int size, const std::function<void(Communicator&)>& body,
                     std::chrono::milliseconds timeout) {
  try {
    run_on_threads(size, body, timeout);
  } catch (const CommError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LostRank, one_that_ended_is_named_at_once) {
  const std::string error = error_of(
      3,
      [](Communicator& ranks) {
        ranks.barrier();
        if (ranks.rank() != 1) ranks.barrier();
      },
      std::chrono::minutes(2));
  EXPECT_NE(error.find("rank 1 ended"), std::string::npos) << error;
}

TEST(LostRank, one_that_stalls_is_named_after_the_timeout) {
  const std::string error = error_of(
      3,
      [](Communicator& ranks) {
        ranks.barrier();
        if (ranks.rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(1));
        ranks.barrier();
      },
      std::chrono::milliseconds(100));
  EXPECT_NE(error.find("rank 2 did not answer within 0.1 s"), std::string::npos) << error;
}

// A rank that another one's patience has woken has not waited that long itself.
TEST(LostRank, whoever_waits_hears_the_reason_of_the_one_that_gave_up) {
  std::array<std::string, 2> reasons;
  run_on_threads(
      3,
      [&](Communicator& ranks) {
        ranks.barrier();
        std::this_thread::sleep_for(std::chrono::milliseconds(ranks.rank() == 0   ? 0
                                                              : ranks.rank() == 1 ? 150
                                                                                  : 1500));
        try {
          ranks.barrier();
        } catch (const CommError& error) {
          if (ranks.rank() < 2) reasons[static_cast<size_t>(ranks.rank())] = error.what();
        }
      },
      std::chrono::milliseconds(300));
  EXPECT_NE(reasons[0].find("did not answer within 0.3 s"), std::string::npos) << reasons[0];
  EXPECT_TRUE(reasons[1].find(reasons[0]) != std::string::npos ||
              reasons[0].find(reasons[1]) != std::string::npos)
      << reasons[0] << "\n"
      << reasons[1];
}

TEST(LostRank, ranks_that_want_different_transfers_fail) {
  // In size, in type, in what becomes of the sum, and in who sends to whom.
  const std::vector<std::function<void(Communicator&)>> bodies = {
      [](Communicator& ranks) {
        std::vector<float> values(ranks.rank() == 0 ? 10 : 12);
        ranks.start_all_reduce({share_in_place(view_of(values), 6, ranks.rank())}).wait();
      },
      [](Communicator& ranks) {
        std::vector<float> values(12);
        const View view(view_of(values).data(), ranks.rank() == 0 ? DType::f32 : DType::i32, {12});
        ranks.start_all_gather({share_in_place(view, 6, ranks.rank())}).wait();
      },
      [](Communicator& ranks) {
        std::vector<float> values(12);
        ranks
            .start_reduce_scatter({share_in_place(view_of(values), 6, ranks.rank())},
                                  ranks.rank() == 0)
            .wait();
      },
      [](Communicator& ranks) {
        std::vector<float> values(12);
        ranks.start_send(view_of(values), ranks.rank(), 1 - ranks.rank()).wait();
      }};
  for (size_t i = 0; i < bodies.size(); ++i) {
    const std::string error = error_of(2, bodies[i], std::chrono::minutes(2));
    EXPECT_NE(error.find("the same recipe"), std::string::npos) << i << ": " << error;
  }
}

// A transport may fail with more than CommError; a transfer whose user has gone already must not
// take the program with it.
TEST(Pending, the_end_of_one_that_failed_in_any_way_throws_nothing) {
  class Failing : public Communicator {
   public:
    Failing() : Communicator({0, 1}) {}

   private:
    int64_t start(Transfer) override { return 1; }
    void wait(int64_t) override { throw std::bad_alloc(); }
  };
  Failing failing;
  { const Pending dropped = failing.start_all_gather({}); }
  Pending waited = failing.start_all_gather({});
  EXPECT_THROW(waited.wait(), std::bad_alloc);
}

}  // namespace
}  // namespace cairn::test
