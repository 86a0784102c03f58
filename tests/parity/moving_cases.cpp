// Ops that move, drop and convert storage. All but add are exact.
#include "base/random.h"
#include "ops/dropout.h"
#include "ops/moving.h"
#include "parity/op_case.h"
#include "reference/dropout.h"

namespace cairn::test {
namespace {

constexpr int64_t kLengths[] = {0, 1, 15, 17, 1000, 16385};

OpCase convert_case(DType from, DType to, int64_t count) {
  OpCase op{fmt::format("convert_{}_{}_{}", name_of(from), name_of(to), count), {}, {}};
  HostTensor in(from, {count});
  if (from == DType::f16) {
    // Every f16 in turn, NaN and infinity left out: they are no numbers to compare.
    for (int64_t i = 0; i < count; ++i) in.write(i, static_cast<uint16_t>((i * 37) % 0x7c00));
  } else {
    in.fill_normal(1, 3);
  }
  HostTensor want(to, {count});
  want.fill(in.values());
  op.add("in", in);
  op.add("out", HostTensor(to, {count})).expect_exactly(want.values());
  op.call = [](const Exec& exec, const std::vector<View>& v) { ops::convert(exec, v[0], v[1]); };
  return op;
}

OpCase add_case(DType from, DType to, int64_t count) {
  OpCase op{fmt::format("add_{}_{}_{}", name_of(from), name_of(to), count), {}, {}};
  const HostTensor in = HostTensor(from, {count}).fill_normal(1);
  reference::Bounded<double> sum(count);
  for (int64_t i = 0; i < count; ++i) sum.add(i, in.at(i), std::abs(in.at(i)));
  op.add("in", in);
  op.add("inout", HostTensor(to, {count}).fill_normal(2)).expect(sum, 1, true);
  op.call = [](const Exec& exec, const std::vector<View>& v) { ops::add(exec, v[0], v[1]); };
  return op;
}

// `many` rows on the side that all of them are, `few` on the other.
OpCase rows_case(bool gathers, DType dtype, int64_t many, int64_t few, int64_t columns) {
  OpCase op{fmt::format("{}_rows_{}_{}of{}x{}", gathers ? "gather" : "scatter", name_of(dtype), few,
                        many, columns),
            {},
            {}};
  const auto order = random_permutation(many, 3, 5);
  HostTensor rows(DType::i32, {few});
  for (int64_t i = 0; i < few; ++i) rows.set(i, static_cast<double>(order[i]));
  const HostTensor in = HostTensor(dtype, {gathers ? many : few, columns}).fill_normal(1);
  HostTensor out(dtype, {gathers ? few : many, columns});
  std::vector<double> want(static_cast<size_t>(out.elements()));
  for (int64_t i = 0; i < few; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t short_side = i * columns + j, long_side = order[i] * columns + j;
      want[gathers ? short_side : long_side] = in.at(gathers ? long_side : short_side);
    }
  op.add("in", in);
  op.add("rows", rows);
  op.add("out", out.fill_normal(9)).expect_exactly(want);
  op.call = [gathers](const Exec& exec, const std::vector<View>& v) {
    gathers ? ops::gather_rows(exec, v[0], v[1], v[2]) : ops::scatter_rows(exec, v[0], v[1], v[2]);
  };
  return op;
}

OpCase fill_case(DType dtype, int64_t count) {
  OpCase op{fmt::format("fill_zero_{}_{}", name_of(dtype), count), {}, {}};
  op.add("out", HostTensor(dtype, {count}).fill_normal(1))
      .expect_exactly(std::vector<double>(static_cast<size_t>(count)));
  op.call = [](const Exec& exec, const std::vector<View>& v) { ops::fill_zero(exec, v[0]); };
  return op;
}

OpCase random_case(DType dtype, bool normal, int64_t count) {
  OpCase op{
      fmt::format("fill_random_{}_{}_{}", normal ? "normal" : "uniform", name_of(dtype), count),
      {},
      {}};
  const RandomFill fill{normal, 0.25f, 7, 11};
  const Random random(fill.seed, fill.stream);
  HostTensor out(dtype, {count});
  reference::Bounded<double> want(count);
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint64_t>(i);
    const double value =
        fill.scale * (normal ? random.normal(index) : 2 * random.uniform(index) - 1);
    // A cosine is as exact as its angle, up to 2 pi; it multiplies a radius below 6.
    want.add(i, value, normal ? 6 * fill.scale : std::abs(value));
  }
  op.add("out", out).expect(want, 1);
  op.call = [fill](const Exec& exec, const std::vector<View>& v) {
    ops::fill_random(exec, fill, v[0]);
  };
  return op;
}

OpCase dropout_case(DType from, DType to, float rate, int64_t rows, int64_t columns) {
  OpCase op{fmt::format("dropout_{}_{}_{}_{}x{}", name_of(from), name_of(to),
                        static_cast<int>(100 * rate), rows, columns),
            {},
            {}};
  const reference::DropoutKey key{rate, uint64_t{7} << 40 | 11, 3};
  const HostTensor in = HostTensor(from, {rows, columns}).fill_normal(1);
  const HostTensor samples = HostTensor(DType::i32, {rows}).fill_below(2, 1000);
  const HostTensor positions = HostTensor(DType::i32, {rows}).fill_below(3, 1 << 20);
  HostTensor want(to, {rows, columns});
  want.fill(reference::dropout(key, samples.values(), positions.values(), in.values(), columns));
  op.add("in", in);
  op.add("samples", samples);
  op.add("positions", positions);
  op.add("out", HostTensor(to, {rows, columns}).fill_normal(9)).expect_exactly(want.values());
  op.call = [key](const Exec& exec, const std::vector<View>& v) {
    ops::dropout(exec,
                 {.rate = key.rate,
                  .seed = key.seed,
                  .stream = key.stream,
                  .samples = v[1],
                  .positions = v[2]},
                 v[0], v[3]);
  };
  return op;
}

}  // namespace

std::vector<OpCase> moving_cases() {
  std::vector<OpCase> cases;
  for (const int64_t count : kLengths)
    for (const DType to : {DType::f32, DType::bf16}) {
      for (const DType from : {DType::f32, DType::bf16, DType::f16})
        cases.push_back(convert_case(from, to, count));
      for (const DType from : {DType::f32, DType::bf16}) cases.push_back(add_case(from, to, count));
      cases.push_back(fill_case(to, count));
      cases.push_back(random_case(to, false, count));
      cases.push_back(random_case(to, true, count));
    }
  for (const bool gathers : {true, false})
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
      cases.push_back(rows_case(gathers, dtype, 9, 0, 5));
      cases.push_back(rows_case(gathers, dtype, 9, 4, 1));
      cases.push_back(rows_case(gathers, dtype, 65, 33, 257));
    }
  for (const DType from : {DType::f32, DType::bf16})
    for (const DType to : {DType::f32, DType::bf16}) {
      cases.push_back(dropout_case(from, to, 0.1f, 0, 8));
      cases.push_back(dropout_case(from, to, 0.5f, 5, 1));
      cases.push_back(dropout_case(from, to, 0.0f, 3, 70));
      cases.push_back(dropout_case(from, to, 0.1f, 67, 1025));
    }
  return cases;
}

}  // namespace cairn::test
