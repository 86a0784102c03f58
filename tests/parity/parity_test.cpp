// Every op on every built backend, in one body: within tolerance of the reference, with the same
// bits for any number of threads, and nothing written but its results.
#include <gtest/gtest.h>

#include "parity/op_case.h"
#include "support/runners.h"

namespace cairn::test {
namespace {

std::vector<OpCase> every_case() {
  std::vector<OpCase> all;
  for (const auto& cases : {moving_cases(), product_cases(), layer_cases(), family_cases(),
                            attention_cases(), loss_cases(), optimizer_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

class Parity : public ::testing::TestWithParam<OpCase> {};

void expect_close(const Operand& operand, const HostTensor& got) {
  for (int64_t i = 0; i < got.elements(); ++i) {
    const auto at = static_cast<size_t>(i);
    ASSERT_NEAR(got.at(i), operand.want[at], operand.error[at])
        << "in " << operand.name << " " << operand.tensor.shape().to_string() << " at element "
        << i;
  }
}

TEST_P(Parity, op_matches_its_reference) {
  const OpCase& op = GetParam();
  for (const auto& group : built_runners()) {
    std::vector<std::vector<std::byte>> first_bytes;
    for (const Runner& runner : group) {
      SCOPED_TRACE("on " + runner.name() + "; repeat with: test_parity --gtest_filter='*/" +
                   op.name + "'");
      RunnerScope scope(runner);
      std::vector<HostTensor> results;
      for (const Operand& operand : op.operands) results.push_back(operand.tensor);
      std::vector<HostTensor*> pointers;
      for (HostTensor& result : results) pointers.push_back(&result);
      run_op(scope.backend(), pointers, op.call);

      for (size_t i = 0; i < results.size(); ++i) {
        const Operand& operand = op.operands[i];
        if (operand.written)
          expect_close(operand, results[i]);
        else
          EXPECT_EQ(results[i].bytes(), operand.tensor.bytes()) << operand.name << " was changed";
        if (&runner == &group.front())
          first_bytes.push_back(results[i].bytes());
        else
          EXPECT_EQ(results[i].bytes(), first_bytes[i])
              << operand.name << " depends on the number of threads";
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(every_op, Parity, ::testing::ValuesIn(every_case()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace

}  // namespace cairn::test
