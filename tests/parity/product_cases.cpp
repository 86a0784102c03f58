// The product, as the op takes it; its own tests go through every corner.
#include "ops/gemm.h"
#include "parity/op_case.h"
#include "reference/product.h"

namespace cairn::test {
namespace {

struct ProductShape {
  int64_t m, n, k;
};

OpCase product_case(ProductShape s, DType a_dtype, DType b_dtype, DType c_dtype, bool transpose_a,
                    bool transpose_b) {
  OpCase op{fmt::format("gemm_{}{}_{}{}_{}_{}x{}x{}", name_of(a_dtype), transpose_a ? "t" : "",
                        name_of(b_dtype), transpose_b ? "t" : "", name_of(c_dtype), s.m, s.n, s.k),
            {},
            {}};
  const HostTensor a =
      HostTensor(a_dtype, transpose_a ? Shape{s.k, s.m} : Shape{s.m, s.k}).fill_normal(1);
  const HostTensor b =
      HostTensor(b_dtype, transpose_b ? Shape{s.n, s.k} : Shape{s.k, s.n}).fill_normal(2);
  op.add("a", a);
  op.add("b", b);
  op.add("c", HostTensor(c_dtype, {s.m, s.n}).fill_normal(3))
      .expect(reference::product(a.values(), transpose_a, b.values(), transpose_b, s.m, s.n, s.k),
              s.k);
  op.call = [=](const Exec& exec, const std::vector<View>& v) {
    Gemm gemm;
    gemm.a = v[0];
    gemm.b = v[1];
    gemm.c = v[2];
    gemm.transpose_a = transpose_a;
    gemm.transpose_b = transpose_b;
    ops::gemm(exec, gemm);
  };
  return op;
}

// c = 2 * a * (b + scale * up * down)^T + c or + residual.
OpCase folded_case(ProductShape s, int64_t rank, bool residual) {
  OpCase op{fmt::format("gemm_folded_{}_{}x{}x{}", residual ? "residual" : "added", s.m, s.n, s.k),
            {},
            {}};
  constexpr float kScale = 0.5f, kAlpha = 2;
  const HostTensor a = HostTensor(DType::bf16, {s.m, s.k}).fill_normal(1);
  const HostTensor b = HostTensor(DType::bf16, {s.n, s.k}).fill_normal(2);
  const HostTensor up = HostTensor(DType::f32, {s.n, rank}).fill_normal(3);
  const HostTensor down = HostTensor(DType::f32, {rank, s.k}).fill_normal(4);
  const HostTensor before = HostTensor(DType::f32, {s.m, s.n}).fill_normal(5);

  const auto low = reference::product(up.values(), false, down.values(), false, s.n, s.k, rank);
  reference::Bounded<double> wide(s.n * s.k);
  for (int64_t i = 0; i < s.n * s.k; ++i)
    wide.add(i, b.at(i) + kScale * low.value[i], std::abs(b.at(i)) + kScale * low.magnitude[i]);
  auto want = reference::product(a.values(), false, wide.value, true, s.m, s.n, s.k);
  std::vector<double> a_sizes = a.values();
  for (double& value : a_sizes) value = std::abs(value);
  want.magnitude = reference::product(a_sizes, false, wide.magnitude, true, s.m, s.n, s.k).value;
  for (int64_t i = 0; i < s.m * s.n; ++i) {
    want.value[i] = kAlpha * want.value[i] + before.at(i);
    want.magnitude[i] = kAlpha * want.magnitude[i] + std::abs(before.at(i));
  }
  op.add("a", a);
  op.add("b", b);
  op.add("up", up);
  op.add("down", down);
  if (residual) op.add("residual", before);
  op.add("c", residual ? HostTensor(DType::f32, {s.m, s.n}) : before).expect(want, s.k + rank);
  op.call = [=](const Exec& exec, const std::vector<View>& v) {
    Gemm gemm;
    gemm.a = v[0];
    gemm.b = v[1];
    gemm.c = v.back();
    gemm.transpose_b = true;
    gemm.alpha = kAlpha;
    gemm.fold = {v[2], v[3], kScale};
    if (residual)
      gemm.residual = v[4];
    else
      gemm.beta = 1;
    ops::gemm(exec, gemm);
  };
  return op;
}

}  // namespace

std::vector<OpCase> product_cases() {
  std::vector<OpCase> cases;
  for (const ProductShape shape : {ProductShape{0, 8, 8}, {1, 1, 1}, {7, 49, 33}, {65, 17, 385}}) {
    for (const DType a : {DType::f32, DType::bf16})
      for (const DType b : {DType::f32, DType::bf16})
        for (const DType c : {DType::f32, DType::bf16})
          cases.push_back(product_case(shape, a, b, c, false, true));
    cases.push_back(product_case(shape, DType::f32, DType::bf16, DType::f32, false, false));
    cases.push_back(product_case(shape, DType::f32, DType::bf16, DType::f32, true, false));
    cases.push_back(folded_case(shape, 4, true));
    cases.push_back(folded_case(shape, 4, false));
  }
  return cases;
}

}  // namespace cairn::test
