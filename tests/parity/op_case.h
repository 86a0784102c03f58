// One call of one op as a test states it: operands, the call, and what the reference expects of
// every operand that is written. Everything else must come back unchanged.
#pragma once

#include <functional>
#include <ostream>
#include <string>
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
