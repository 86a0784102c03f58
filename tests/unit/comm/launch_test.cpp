// Who is a rank: what mpirun and srun leave in the environment, and what only looks like it.
#include "comm/launch.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace cairn {
namespace {

using Variables = std::map<std::string, std::string>;

Launch launch_in(const Variables& variables) {
  return read_launch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

// What a batch script on two machines for five tasks has.
const Variables kBatchScript = {{"SLURM_JOB_ID", "7"},          {"SLURM_NTASKS", "5"},
                                {"SLURM_PROCID", "0"},          {"SLURM_LOCALID", "0"},
                                {"SLURM_NODEID", "0"},          {"SLURM_NNODES", "2"},
                                {"SLURM_TASKS_PER_NODE", "3,2"}};
// What srun adds in a step of it, on the second machine.
const Variables kStep = with(kBatchScript, {{"SLURM_STEP_ID", "0"},
                                            {"SLURM_STEP_NUM_TASKS", "5"},
                                            {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                                            {"SLURM_PROCID", "4"},
                                            {"SLURM_NODEID", "1"}});
const Launch kAlone;

TEST(Launch, a_process_of_no_launcher_is_alone) { EXPECT_EQ(launch_in({}), kAlone); }

TEST(Launch, mpirun_says_who_is_a_rank_in_a_batch_script_too) {
  const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_RANK", "2"}};
  EXPECT_EQ(launch_in(mpirun), (Launch{{2, 4}, 2}));
  EXPECT_EQ(launch_in(with(kStep, mpirun)), (Launch{{2, 4}, 2}));
}

TEST(Launch, srun_says_who_is_a_rank_of_a_step_by_pmix_or_pmi) {
  EXPECT_EQ(launch_in(with(kStep, {{"PMIX_RANK", "4"}})), (Launch{{4, 5}, 2}));
  EXPECT_EQ(launch_in(with(kStep, {{"PMI_RANK", "4"}, {"PMI_SIZE", "5"}})), (Launch{{4, 5}, 2}));
  const Variables older = {
      {"SLURM_STEP_ID", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"PMIX_RANK", "1"}};
  EXPECT_EQ(launch_in(older), (Launch{{1, 4}, 4}));
}

TEST(Launch, ranks_of_this_machine_are_read_from_slurms_short_form) {
  const auto here = [](const char* machine, const char* per_machine) {
    return launch_in(with(kStep, {{"PMIX_RANK", "1"},
                                  {"SLURM_NODEID", machine},
                                  {"SLURM_STEP_TASKS_PER_NODE", per_machine}}))
        .ranks_here;
  };
  EXPECT_EQ(here("0", "5"), 5);
  EXPECT_EQ(here("1", "2(x2),1"), 2);
  EXPECT_EQ(here("2", "2(x2),1"), 1);
}

TEST(Launch, a_batch_script_and_the_shell_of_salloc_are_no_rank) {
  EXPECT_EQ(launch_in(kBatchScript), kAlone);
  EXPECT_EQ(launch_in(with(kBatchScript, {{"SLURM_STEP_NUM_TASKS", "1"}})), kAlone);
  // An allocation's shell may itself be a step, of one task.
  EXPECT_EQ(launch_in(with(
                kStep, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}})),
            kAlone);
}

TEST(Launch, a_step_without_pmi_is_many_programs_each_alone) {
  EXPECT_EQ(launch_in(kStep), kAlone);
}

TEST(Launch, what_is_no_number_is_not_taken_for_one) {
  EXPECT_EQ(launch_in(with(kStep, {{"PMIX_RANK", "four"}})), kAlone);
  EXPECT_EQ(launch_in(with(kStep, {{"PMIX_RANK", "5"}})), kAlone) << "beyond the last";
  EXPECT_EQ(launch_in({{"OMPI_COMM_WORLD_SIZE", ""}}), kAlone);
}

}  // namespace
}  // namespace cairn
