// What the measurements share: their options, and one function each.
#pragma once

#include <string>
#include <vector>

#include "commands.h"
#include "model/checkpoint_policy.h"

namespace cairn::program {

struct BenchOptions {
  std::string model = "smollm2-135m";
  std::vector<std::string> methods = {"lora", "full"};
  std::vector<std::string> shapes = {"8x256", "1x2048"};
  std::string checkpointing = "none";
  std::vector<std::string> policies = {"none", "selective", "block",  "every:2",
                                       "sqrt", "nested",    "offload"};
  int budgets = 0;        // of checkpointing: how many the plan chooses for
  bool rehearse = false;  // checkpointing: measure nothing
  std::string data;
  std::string chat_template = "chatml";
  int64_t sequence = 2048;                     // tokens of a packed row
  std::vector<int64_t> tokens = {1024, 4096};  // of attention
  bool only_flash = false;
  int threads = 0;
  int repeats = 5;
  int ranks = 2;                  // of sharding
  std::vector<std::string> keys;  // of step: key=value, as after a recipe
  bool json = false;
};

// Throws UserError for words that are no policy, and for one that needs a plan or a page file.
CheckpointPolicy policy_of(const BenchOptions& options, int64_t num_blocks);

int bench_gemm(const BenchOptions& options);
int bench_attention(const BenchOptions& options);
int bench_step(const BenchOptions& options);
int bench_checkpointing(const BenchOptions& options);
int bench_packing(const BenchOptions& options);
int bench_optimizer(const BenchOptions& options);
int bench_nf4(const BenchOptions& options);
int bench_sharding(const BenchOptions& options);

}  // namespace cairn::program
