// What else a DeepSpeed JSON may carry: logs, files, communication, and parts of DeepSpeed that
// have no counterpart here.
#include "train/deepspeed/deepspeed_key.h"

namespace cairn::deepspeed {
namespace {

using enum ValueKind;

void add_reports(std::vector<Key>& keys) {
  const std::string logs = "Cairn logs to trainer_log.jsonl and ledger.json in output_dir";
  keys.push_back(without_effect("steps_per_print", integer, logs));
  for (const char* name : {"wall_clock_breakdown", "memory_breakdown", "dump_state"})
    keys.push_back(without_effect(name, boolean, logs, {"false"}));
  for (const char* name : {"comms_logger", "comms_config", "monitor_config", "tensorboard", "wandb",
                           "comet", "csv_monitor", "flops_profiler"})
    keys.push_back(without_effect(name, anything, logs));
}

void add_memory(std::vector<Key>& keys) {
  const std::string section = "activation_checkpointing.";
  keys.push_back(honoured<bool>(
      section + "cpu_checkpointing", {},
      [](DeepspeedConfig & config) -> auto& { return config.cpu_checkpointing; }));
  for (const char* name : {"partition_activations", "contiguous_memory_optimization",
                           "synchronize_checkpoint_boundary", "profile"})
    keys.push_back(without_effect(section + name, boolean,
                                  "gradient_checkpointing in the recipe says what is kept",
                                  {"false"}));
  keys.push_back(without_effect(section + "number_checkpoints", integer,
                                "gradient_checkpointing in the recipe says what is kept"));
  const std::string pages = "page files are read and written by direct I/O of Cairn's own";
  for (const char* name :
       {"aio.block_size", "aio.queue_depth", "aio.thread_count", "aio.intra_op_parallelism"})
    keys.push_back(without_effect(name, integer, pages));
  for (const char* name : {"aio.single_submit", "aio.overlap_events", "aio.use_gds"})
    keys.push_back(without_effect(name, boolean, pages));
  keys.push_back(without_effect("checkpoint.load_universal", boolean,
                                "every checkpoint can be continued on any number of ranks"));
  keys.push_back(without_effect("checkpoint.use_node_local_storage", boolean,
                                "checkpoints are written to output_dir"));
  keys.push_back(without_effect("checkpoint.tag_validation", text,
                                "the ranks of a checkpoint are always checked to agree"));
  keys.push_back(without_effect("checkpoint.parallel_write", anything,
                                "checkpoints are written by Cairn's own code"));
}

void add_communication(std::vector<Key>& keys) {
  const std::string sums = "gradients are divided by the label tokens of the whole step, once";
  keys.push_back(without_effect("prescale_gradients", boolean, sums, {"false"}));
  keys.push_back(without_effect("gradient_predivide_factor", number, sums, {"1", "1.0"}));
  for (const char* name : {"communication_data_type", "seq_parallel_communication_data_type"})
    keys.push_back(
        without_effect(name, text,
                       "gradients are sent as they are kept, and trained_precision in the "
                       "recipe says how"));
  keys.push_back(without_effect("disable_allgather", boolean, "updated weights are always gathered",
                                {"false"}));
  keys.push_back(without_effect("sparse_gradients", boolean, "gradients are dense", {"false"}));
  keys.push_back(without_effect("zero_allow_untested_optimizer", boolean,
                                "every optimizer here works under every stage", {"true", "false"}));
  keys.push_back(without_effect("zero_force_ds_cpu_optimizer", boolean,
                                "paged states are updated by the same optimizer",
                                {"true", "false"}));
}

void add_refused(std::vector<Key>& keys) {
  const std::string dense = "stage 3 of zero_optimization splits the weights; leave it out";
  for (const char* name : {"tensor_parallel.autotp_size", "tensor_parallel.tp_size"})
    keys.push_back(refused(name, dense, {"0", "1"}));
  keys.push_back(refused("sequence_parallel_size", "checkpointing and tiles serve long sequences",
                         {"0", "1"}));
  for (const char* name :
       {"elasticity", "autotuning", "compression_training", "curriculum_learning",
        "data_efficiency", "eigenvalue", "hybrid_engine", "nebula", "pipeline",
        "progressive_layer_drop", "quantize_training", "sparse_attention", "compile"})
    keys.push_back(refused(name, "leave it out"));
}

}  // namespace

std::vector<Key> platform_keys() {
  std::vector<Key> keys;
  add_reports(keys);
  add_memory(keys);
  add_communication(keys);
  add_refused(keys);
  return keys;
}

}  // namespace cairn::deepspeed
