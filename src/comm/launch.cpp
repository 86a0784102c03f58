#include "comm/launch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace cairn {
namespace {

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || rest != text.data() + text.size() || number < 0) return {};
  return number;
}

// The first of the variables that holds a number.
std::optional<int> number_in(const Environment& environment,
                             std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* const text = environment(name))
      if (const auto number = number_of(text)) return number;
  return {};
}

// Slurm's "2(x3),1": two ranks on each of three machines, one on the fourth.
std::optional<int> ranks_on(std::string_view per_machine, int machine) {
  while (!per_machine.empty()) {
    const size_t comma = std::min(per_machine.find(','), per_machine.size());
    const std::string_view entry = per_machine.substr(0, comma);
    const size_t times = std::min(entry.find("(x"), entry.size());
    const auto ranks = number_of(entry.substr(0, times));
    std::optional<int> machines = 1;
    if (times < entry.size() && entry.ends_with(')'))
      machines = number_of(entry.substr(times + 2, entry.size() - times - 3));
    if (!ranks || !machines) return {};
    if (machine < *machines) return ranks;
    machine -= *machines;
    per_machine.remove_prefix(std::min(comma + 1, per_machine.size()));
  }
  return {};
}

// A rank of a step: srun has given it a number by PMIx or PMI, which is how MPI will find the
// others. A batch script and the shell of salloc carry the task count of the whole job, but are no
// step or a step of one task.
Launch read_slurm_step(const Environment& environment) {
  const auto rank = number_in(environment, {"PMIX_RANK", "PMI_RANK"});
  const auto size = number_in(environment, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  const bool in_step = environment("SLURM_STEP_ID") && environment("SLURM_PROCID");
  if (!in_step || !rank || !size || *size < 2 || *rank >= *size) return {};
  Launch launch{{*rank, *size}, *size};
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})
    if (const char* const text = environment(name))
      if (const auto here = ranks_on(text, number_in(environment, {"SLURM_NODEID"}).value_or(0))) {
        launch.ranks_here = *here;
        break;
      }
  return launch;
}

}  // namespace

Launch read_launch(const Environment& environment) {
  // Open MPI's mpirun, which may itself run in a batch script.
  if (const auto size = number_in(environment, {"OMPI_COMM_WORLD_SIZE"}))
    return {{number_in(environment, {"OMPI_COMM_WORLD_RANK"}).value_or(0), *size},
            number_in(environment, {"OMPI_COMM_WORLD_LOCAL_SIZE"}).value_or(1)};
  return read_slurm_step(environment);
}

}  // namespace cairn
