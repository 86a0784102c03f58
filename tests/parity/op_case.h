// One call of one op as a test states it: operands, the call, and what the reference expects of
// every operand that is written. Everything else must come back unchanged.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "reference/bounded.h"
#include "support/op_run.h"
#include "support/tolerance.h"

namespace cairn::test {

struct Operand {
  std::string name;
  HostTensor tensor;
  bool written = false;
  std::vector<double> want, error;  // of a written operand: values, and how far they may be off

  // Expects value + before; sums have `length` terms.
  void expect(const reference::Bounded<double>& result, int64_t length, bool adds = false) {
    written = true;
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const auto at = static_cast<size_t>(i);
      const double before = adds ? tensor.at(i) : 0;
      want.push_back(before + result.value[at]);
      error.push_back(kUnderflow + tolerance(tensor.dtype(), length) *
                                       (std::abs(before) + result.magnitude[at]));
    }
  }
  // Expects exactly these numbers.
  void expect_exactly(const std::vector<double>& values) {
    written = true;
    want = values;
    error.assign(values.size(), 0);
  }
};

struct OpCase {
  std::string name;  // letters, digits and _: it selects the case on the command line
  std::vector<Operand> operands;
  OpBody call;

  Operand& add(std::string operand, HostTensor tensor) {
    operands.push_back({std::move(operand), std::move(tensor), false, {}, {}});
    return operands.back();
  }
};

// What most cases go through.
inline constexpr DType kFloats[] = {DType::f32, DType::bf16};

struct Size {
  int64_t rows, columns;
};

// A case called by its op, storage and size.
inline OpCase named(std::string_view name, std::initializer_list<DType> dtypes, Size size) {
  OpCase op;
  op.name = name;
  for (const DType dtype : dtypes) op.name += fmt::format("_{}", name_of(dtype));
  op.name += fmt::format("_{}x{}", size.rows, size.columns);
  return op;
}

// How a failure names its case.
inline void PrintTo(const OpCase& op, std::ostream* out) { *out << op.name; }

// Every case of a subject.
std::vector<OpCase> moving_cases();
std::vector<OpCase> product_cases();
std::vector<OpCase> layer_cases();
std::vector<OpCase> family_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> optimizer_cases();

}  // namespace cairn::test
