// The program under mpirun, for the tests that start it on several ranks.
#pragma once

#include <fmt/format.h>

#include <cmath>

#include "cli/small_program.h"

namespace cairn::test {

#define SKIP_WITHOUT_MPI()                    \
  if (std::string(CAIRN_TEST_MPIRUN).empty()) \
  GTEST_SKIP() << "MPI is not built here: install-dependencies mpi, then configure again"

class Ranks : public Program {
 protected:
  // What a process may hold beyond its plan: MPI's buffers for messages grow with use.
  static constexpr int64_t kRankSlack = 16 << 20;
  // In f32, so that only the order of sums differs.
  static constexpr const char* kRecipe = "train recipe.yaml bf16=false max_steps=4 logging_steps=1";

  Outcome mpirun(int ranks, const std::string& arguments) const {
    return run_command(folder_.string(), launch(ranks) + CAIRN_PROGRAM + " " + arguments);
  }
  static std::string launch(int ranks) {
    return fmt::format("OMP_WAIT_POLICY=passive '{}' --allow-run-as-root --oversubscribe -n {} ",
                       CAIRN_TEST_MPIRUN, ranks);
  }
  std::vector<double> losses() const {
    std::vector<double> losses;
    std::ifstream in(folder_ / "out/trainer_log.jsonl");
    for (std::string line; std::getline(in, line);)
      if (const auto entry = nlohmann::json::parse(line); entry.contains("loss"))
        losses.push_back(entry["loss"]);
    return losses;
  }
  static double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
    return std::sqrt(sum);
  }
  std::vector<float> tensor(const std::string& file, const std::string& name) const {
    const SafetensorsFile source((folder_ / file).string());
    const TensorInfo& info = source.require(name);
    std::vector<float> values(static_cast<size_t>(info.shape.elements()));
    std::vector<std::byte> scratch(kReadScratchBytes);
    source.read(
        info,
        View(reinterpret_cast<std::byte*>(values.data()), DType::f32, {info.shape.elements()}),
        scratch);
    return values;
  }
};

}  // namespace cairn::test
