// The rehearsal: the CPU's scratch sizes, work counted by formula, and addresses that fault.
#include <gtest/gtest.h>

#include "backend/registry.h"

namespace cairn {
namespace {

// A view that nothing may touch.
View untouchable(RehearsalBackend& backend, DType dtype, Shape shape) {
  return {backend.device().borrow(0), dtype, shape};
}

TEST(Rehearsal, scratch_sizes_are_those_of_the_target) {
  for (const int threads : {1, 2, 5}) {
    const auto rehearsal = open_rehearsal(cpu_profile(threads));
    const auto cpu = open_backend("cpu", threads);
    Kernels &rehearsed = rehearsal->kernels(), &real = cpu->kernels();
    EXPECT_EQ(rehearsed.gemm_scratch_bytes(), real.gemm_scratch_bytes());
    EXPECT_EQ(rehearsed.sum_of_squares_scratch_bytes(), real.sum_of_squares_scratch_bytes());
    for (const bool backward : {false, true})
      EXPECT_EQ(rehearsed.attention_scratch_bytes(64, backward),
                real.attention_scratch_bytes(64, backward));
    EXPECT_EQ(rehearsed.attention_materialised_scratch_bytes(300),
              real.attention_materialised_scratch_bytes(300));
  }
}

TEST(Rehearsal, scratch_grows_with_the_threads_of_the_profile) {
  const auto one = open_rehearsal(cpu_profile(1)), many = open_rehearsal(cpu_profile(8));
  EXPECT_LT(one->kernels().gemm_scratch_bytes(), many->kernels().gemm_scratch_bytes());
}

TEST(Rehearsal, a_product_counts_two_operations_a_term_and_its_fold) {
  const auto backend = open_rehearsal(cpu_profile(1));
  Gemm gemm;
  gemm.a = untouchable(*backend, DType::bf16, {7, 11});
  gemm.b = untouchable(*backend, DType::bf16, {13, 11});
  gemm.c = untouchable(*backend, DType::f32, {7, 13});
  gemm.transpose_b = true;
  backend->kernels().gemm({}, gemm, {});
  EXPECT_EQ(backend->work().gemm_flops, 2 * 7 * 11 * 13);
  gemm.fold = {untouchable(*backend, DType::f32, {13, 3}),
               untouchable(*backend, DType::f32, {3, 11}), 0.5f};
  backend->reset_work();
  backend->kernels().gemm({}, gemm, {});
  EXPECT_EQ(backend->work().gemm_flops, 2 * 7 * 11 * 13 + 2 * 13 * 11 * 3);
  EXPECT_EQ(backend->work().bytes_moved, 0);
}

TEST(Rehearsal, attention_counts_the_causal_half) {
  const auto backend = open_rehearsal(cpu_profile(1));
  Attention attention;
  attention.q = untouchable(*backend, DType::bf16, {10, 4, 8});
  attention.k = attention.v = untouchable(*backend, DType::bf16, {10, 2, 8});
  backend->kernels().attention_forward({}, attention, {}, {}, {});
  const double forward = 4.0 * (10 * 11 / 2) * 4 * 8;
  EXPECT_EQ(backend->work().gemm_flops, forward);
  backend->reset_work();
  backend->kernels().attention_backward({}, attention, {}, {}, {}, {}, {}, {}, {}, {});
  EXPECT_EQ(backend->work().gemm_flops, 2.5 * forward);
}

TEST(Rehearsal, a_window_shortens_the_work_of_attention) {
  const auto backend = open_rehearsal(cpu_profile(1));
  Attention attention;
  attention.q = untouchable(*backend, DType::bf16, {10, 4, 8});
  attention.k = attention.v = untouchable(*backend, DType::bf16, {10, 2, 8});
  attention.window = 3;
  backend->kernels().attention_forward({}, attention, {}, {}, {});
  EXPECT_EQ(backend->work().gemm_flops, 4.0 * (1 + 2 + 8 * 3) * 4 * 8);
}

TEST(Rehearsal, materialised_attention_counts_the_whole_square) {
  const auto backend = open_rehearsal(cpu_profile(1));
  Attention attention;
  attention.q = untouchable(*backend, DType::bf16, {10, 4, 8});
  attention.k = attention.v = untouchable(*backend, DType::bf16, {10, 2, 8});
  const View probabilities = untouchable(*backend, DType::bf16, {10, 4, 12});
  backend->kernels().attention_materialised_forward({}, attention, {}, probabilities, {});
  const double forward = 4.0 * 10 * 10 * 4 * 8;
  EXPECT_EQ(backend->work().gemm_flops, forward);
  EXPECT_EQ(backend->work().bytes_moved, 2 * 10 * 4 * 12);
  backend->reset_work();
  backend->kernels().attention_materialised_backward({}, attention, probabilities, {}, {}, {}, {},
                                                     {});
  EXPECT_EQ(backend->work().gemm_flops, 2 * forward);
}

TEST(Rehearsal, everything_else_counts_its_bytes) {
  const auto backend = open_rehearsal(cpu_profile(1));
  const View wide = untouchable(*backend, DType::f32, {100}),
             narrow = untouchable(*backend, DType::bf16, {100});
  backend->kernels().convert({}, wide, narrow);
  EXPECT_EQ(backend->work().bytes_moved, 400 + 200);
  backend->kernels().add({}, wide, wide);
  EXPECT_EQ(backend->work().bytes_moved, 600 + 3 * 400);
}

TEST(Rehearsal, seconds_follow_the_rates_of_the_profile) {
  TargetProfile profile;
  profile.gemm_flops = 100;
  profile.bytes_per_second = 10;
  EXPECT_EQ((Work{.gemm_flops = 200, .bytes_moved = 30}.seconds(profile)), 5);
}

TEST(RehearsalDeathTest, its_addresses_fault_when_touched) {
  const auto backend = open_rehearsal(cpu_profile(1));
  volatile std::byte* const address = backend->device().borrow(0);
  EXPECT_DEATH(*address = std::byte{1}, "");
  EXPECT_DEATH(static_cast<void>(*address), "");
}

TEST(Rehearsal, its_copies_touch_nothing) {
  const auto backend = open_rehearsal(cpu_profile(1));
  std::byte* const address = backend->device().borrow(1024);
  int number = 3;
  backend->device().copy_to_device({}, &number, address, sizeof number);
  backend->device().copy_to_host({}, address, &number, sizeof number);
  backend->device().prefault(address, 1024);
  backend->device().give_back(address, 1024);
  EXPECT_EQ(number, 3);
}

}  // namespace
}  // namespace cairn
