// What the bits of attention may depend on: the segment and its head, nothing else.
#include <gtest/gtest.h>

#include "backend/cpu/attention/materialised.h"
#include "unit/backend/attention_case.h"

namespace cairn::test {
namespace {

std::string all_bytes(const AttentionOperands& o) {
  return o.out.bytes() + o.log_sum_exp.bytes() + o.delta.bytes() + o.d_q.bytes() + o.d_k.bytes() +
         o.d_v.bytes();
}

TEST(AttentionBits, do_not_depend_on_the_number_of_threads) {
  for (DType storage : {DType::f32, DType::bf16})
    for (int64_t window : {0, 1, 100, 257}) {
      AttentionCase spec{{{700, 700}, {1, 1}, {0, 3}, {90, 300}, {300, 90}}, 9, 3, 64, storage};
      spec.window = window;
      spec.softcap = window == 100 ? 2.0f : 0.0f;
      std::string one;
      for (int threads : {1, 2, 3, 2, 8}) {
        AttentionOperands operands(spec);
        operands.forward(threads);
        operands.backward(threads);
        if (one.empty()) one = all_bytes(operands);
        ASSERT_EQ(all_bytes(operands) == one, true) << threads << " threads, " << spec.to_string();
      }
    }
}

// Copies one segment's rows of `from` into the whole of `to`.
void take_rows(GuardedTensor& from, int64_t begin, int64_t end, GuardedTensor& to) {
  const std::string rows = from.bytes(begin, end);
  if (!rows.empty()) std::memcpy(to.view().data(), rows.data(), rows.size());
}

TEST(AttentionBits, a_packed_segment_equals_the_segment_alone) {
  for (DType storage : {DType::f32, DType::bf16})
    for (int64_t group : {1, 3, 4}) {
      AttentionOperands packed({{{3, 3}, {130, 130}, {0, 0}, {1, 90}, {67, 67}, {5, 2}, {300, 300}},
                                group * 2,
                                2,
                                64,
                                storage,
                                group == 3 ? 70 : 0});
      packed.forward(2);
      packed.backward(2);
      for (size_t i = 0; i < packed.spec.segments.size(); ++i) {
        AttentionCase one = packed.spec;
        one.segments = {packed.spec.segments[i]};
        AttentionOperands alone(one);
        const int64_t q0 = packed.sizes.cu_queries[i], q1 = packed.sizes.cu_queries[i + 1];
        const int64_t k0 = packed.sizes.cu_keys[i], k1 = packed.sizes.cu_keys[i + 1];
        take_rows(packed.q, q0, q1, alone.q);
        take_rows(packed.k, k0, k1, alone.k);
        take_rows(packed.v, k0, k1, alone.v);
        take_rows(packed.d_out, q0, q1, alone.d_out);
        alone.forward(1);
        alone.backward(1);
        const std::string want = packed.out.bytes(q0, q1) + packed.log_sum_exp.bytes(q0, q1) +
                                 packed.delta.bytes(q0, q1) + packed.d_q.bytes(q0, q1) +
                                 packed.d_k.bytes(k0, k1) + packed.d_v.bytes(k0, k1);
        ASSERT_EQ(all_bytes(alone) == want, true)
            << "segment " << i << " of " << packed.spec.to_string();
      }
    }
}

// Materialised attention of a case; runs on its operands, and returns what it wrote.
std::vector<std::string> materialised_rows(AttentionOperands& o, int threads, int64_t longest,
                                           const std::vector<size_t>& segments) {
  GuardedTensor probabilities(o.spec.storage, {o.sizes.tokens(), o.spec.heads, longest});
  GuardedTensor scratch(DType::u8, {cpu::attention_materialised_scratch_bytes(threads, longest)});
  cpu::attention_materialised_forward(o.attention(), o.out.view(), probabilities.view(), threads,
                                      scratch.view().data());
  cpu::attention_materialised_backward(o.attention(), probabilities.view(), o.d_out.view(),
                                       o.d_q.view(), o.d_k.view(), o.d_v.view(), threads,
                                       scratch.view().data());
  EXPECT_TRUE(scratch.guards_hold() && probabilities.guards_hold()) << o.spec.to_string();
  std::vector<std::string> rows;
  for (size_t i : segments) {
    const int64_t q0 = o.sizes.cu_queries[i], q1 = o.sizes.cu_queries[i + 1];
    const int64_t k0 = o.sizes.cu_keys[i], k1 = o.sizes.cu_keys[i + 1];
    rows.push_back(o.out.bytes(q0, q1) + o.d_q.bytes(q0, q1) + o.d_k.bytes(k0, k1) +
                   o.d_v.bytes(k0, k1));
  }
  return rows;
}

TEST(AttentionBits, a_packed_segment_equals_the_segment_alone_materialised_too) {
  for (DType storage : {DType::f32, DType::bf16})
    for (float softcap : {0.0f, 2.0f}) {
      const AttentionCase spec{{{3, 3}, {130, 130}, {0, 0}, {1, 1}, {67, 67}, {300, 300}},
                               6,
                               2,
                               24,
                               storage,
                               softcap != 0 ? 70 : 0,
                               softcap};
      AttentionOperands packed(spec);
      const auto rows = materialised_rows(packed, 2, 301, {0, 1, 2, 3, 4, 5});
      for (size_t i = 0; i < spec.segments.size(); ++i) {
        AttentionCase one = spec;
        one.segments = {spec.segments[i]};
        AttentionOperands alone(one);
        const int64_t begin = packed.sizes.cu_queries[i], end = packed.sizes.cu_queries[i + 1];
        take_rows(packed.q, begin, end, alone.q);
        take_rows(packed.k, begin, end, alone.k);
        take_rows(packed.v, begin, end, alone.v);
        take_rows(packed.d_out, begin, end, alone.d_out);
        ASSERT_EQ(materialised_rows(alone, 1, spec.segments[i].keys, {0}).front() == rows[i], true)
            << "segment " << i << " of " << spec.to_string();
      }
    }
}

// Decoding against a cache: each query alone repeats its row of the whole sequence.
TEST(AttentionBits, a_query_alone_repeats_its_row) {
  for (int64_t group : {1, 3}) {
    const int64_t window = group == 3 ? 70 : 0;
    AttentionOperands whole({{{150, 150}}, group * 2, 2, 64, DType::bf16, window});
    whole.forward(2);
    for (int64_t i = 0; i < 150; ++i) {
      AttentionOperands one({{{1, i + 1}}, group * 2, 2, 64, DType::bf16, window});
      take_rows(whole.q, i, i + 1, one.q);
      take_rows(whole.k, 0, i + 1, one.k);
      take_rows(whole.v, 0, i + 1, one.v);
      one.forward(2);
      ASSERT_EQ(one.out.bytes() == whole.out.bytes(i, i + 1), true) << "query " << i;
      ASSERT_EQ(one.log_sum_exp.bytes() == whole.log_sum_exp.bytes(i, i + 1), true)
          << "query " << i;
    }
  }
}

}  // namespace
}  // namespace cairn::test
