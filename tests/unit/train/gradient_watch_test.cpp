#include "train/gradient_watch.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "base/error.h"

namespace cairn::test {
namespace {

ParameterList make_list() {
  ParameterList list;
  for (const char* name : {"frozen", "a.lora_A.weight", "a.lora_B.weight"}) {
    Parameter& parameter = list.emplace_back();
    parameter.name = name;
    parameter.trainable = parameter.name != "frozen";
  }
  return list;
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST(GradientWatch, what_lies_behind_a_zero_waits_until_that_has_moved) {
  const ParameterList list = make_list();
  GradientWatch watch;
  const std::vector<double> none = {0, 0}, only_b = {0, 1}, both = {1, 1};
  for (int i = 0; i < 3; ++i) watch.check(list, none, false);
  watch.check(list, only_b, true);
  watch.check(list, both, true);
  watch.check(list, only_b, true);
}

TEST(GradientWatch, stops_and_names_a_tensor_that_gets_none) {
  const ParameterList list = make_list();
  GradientWatch watch;
  watch.check(list, std::vector<double>{1, 0}, true);
  EXPECT_NE(message_of([&] {
              watch.check(list, std::vector<double>{1, 0}, true);
            }).find("a.lora_B.weight"),
            std::string::npos);
}

TEST(GradientWatch, stops_an_a_that_never_follows) {
  const ParameterList list = make_list();
  GradientWatch watch;
  watch.check(list, std::vector<double>{0, 1}, false);
  watch.check(list, std::vector<double>{0, 1}, true);
  EXPECT_NE(message_of([&] {
              watch.check(list, std::vector<double>{0, 1}, true);
            }).find("a.lora_A.weight"),
            std::string::npos);
}

TEST(GradientWatch, stops_at_a_gradient_that_is_not_finite) {
  const ParameterList list = make_list();
  for (double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    GradientWatch watch;
    EXPECT_NE(message_of([&] {
                watch.check(list, std::vector<double>{bad, 1}, true);
              }).find("not finite"),
              std::string::npos);
    EXPECT_THROW(watch.check_loss(bad), NotFinite);
  }
}

TEST(GradientWatch, counts_on_from_the_step_that_a_run_resumes_after) {
  GradientWatch watch;
  watch.go_on_after(41, true);
  watch.begin_step();
  EXPECT_NE(message_of([&] {
              watch.check_loss(std::numeric_limits<double>::infinity());
            }).find("step 42"),
            std::string::npos);
  const ParameterList list = make_list();
  for (int step = 0; step < 3; ++step)
    EXPECT_NO_THROW(watch.check(list, std::vector<double>{0, 0}, true)) << "seen long ago";
}

}  // namespace
}  // namespace cairn::test
