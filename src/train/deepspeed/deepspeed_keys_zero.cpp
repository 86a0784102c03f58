// The keys of "zero_optimization". Their defaults are those of DeepSpeed's code.
#include "train/deepspeed/deepspeed_key.h"

namespace cairn::deepspeed {
namespace {

using enum ValueKind;

const std::string kZero = "zero_optimization.";

Range<int64_t> stage_range() {
  return {" from 0 to 3", [](int64_t stage) { return stage >= 0 && stage <= 3; }};
}

Key device_key(const std::string& path, DeepspeedOffload DeepspeedZero::*offload) {
  Key key;
  key.path = path;
  key.expected = "none, cpu or nvme";
  key.read = [=, expected = key.expected](DeepspeedConfig& config, const Given& given) {
    const bool known =
        given.is_scalar() && (given.text == "none" || given.text == "cpu" || given.text == "nvme");
    if (!known) throw_wrong_value(path, expected, given);
    (config.zero.*offload).device = given.text == "none"  ? OffloadDevice::none
                                    : given.text == "cpu" ? OffloadDevice::cpu
                                                          : OffloadDevice::nvme;
  };
  return key;
}

Key nvme_path_key(const std::string& path, DeepspeedOffload DeepspeedZero::*offload) {
  return honoured<std::string>(
      path,
      {}, [=](DeepspeedConfig & config) -> auto& { return (config.zero.*offload).nvme_path; });
}

// The older way to say that something lives on the host.
Key cpu_switch_key(const std::string& path, DeepspeedOffload DeepspeedZero::*offload) {
  Key key;
  key.path = path;
  key.expected = expected_words<bool>();
  key.read = [=, expected = key.expected](DeepspeedConfig& config, const Given& given) {
    bool on = false;
    if (!read_value(given, on)) throw_wrong_value(path, expected, given);
    if (on) (config.zero.*offload).device = OffloadDevice::cpu;
  };
  return key;
}

void add_offload_keys(std::vector<Key>& keys) {
  const std::string buffers = "page_resident says how much of what is paged stays in memory";
  const std::string pages =
      "page files are read and written by direct I/O, two transfers at a time";
  const std::string pinned = "pages are moved by direct I/O and need no pinned memory";
  for (const char* name : {"offload_param", "offload_optimizer"}) {
    const std::string section = kZero + name + ".";
    const auto offload = name == std::string_view("offload_param")
                             ? &DeepspeedZero::offload_param
                             : &DeepspeedZero::offload_optimizer;
    keys.push_back(device_key(section + "device", offload));
    keys.push_back(nvme_path_key(section + "nvme_path", offload));
    keys.push_back(without_effect(section + "pin_memory", boolean, pinned, {"true", "false"}));
    keys.push_back(without_effect(section + "buffer_count", integer, buffers));
  }
  keys.push_back(without_effect(kZero + "offload_param.buffer_size", integer, buffers));
  keys.push_back(without_effect(kZero + "offload_param.max_in_cpu", integer, buffers));
  for (const char* name : {"pipeline_read", "pipeline_write", "pipeline", "fast_init"})
    keys.push_back(without_effect(kZero + "offload_optimizer." + name, boolean, pages, {"false"}));
  keys.push_back(without_effect(kZero + "offload_optimizer.ratio", number, buffers, {"1", "1.0"}));
  keys.push_back(
      without_effect(kZero + "offload_optimizer.super_offload", boolean, pages, {"false"}));
  keys.push_back(without_effect(kZero + "offload_optimizer.cpuadam_cores_perc", number,
                                "threads says how many cores compute"));
  keys.push_back(cpu_switch_key(kZero + "cpu_offload", &DeepspeedZero::offload_optimizer));
  keys.push_back(cpu_switch_key(kZero + "cpu_offload_param", &DeepspeedZero::offload_param));
  keys.push_back(without_effect(kZero + "cpu_offload_use_pin_memory", boolean, pinned));
  keys.push_back(cpu_switch_key(kZero + "cpu_offload_params", &DeepspeedZero::offload_param));
}

void add_sizes(std::vector<Key>& keys) {
  const auto zero = [](auto member) {
    return [member](DeepspeedConfig & config) -> auto& { return config.zero.*member; };
  };
  using Z = DeepspeedZero;
  const auto none = at_least<int64_t>(0), one = at_least<int64_t>(1);
  const auto add = [&](Key key) { keys.push_back(std::move(key)); };
  add(honoured<int64_t>(kZero + "stage", stage_range(), zero(&Z::stage)));
  add(honoured<bool>(kZero + "overlap_comm", {}, zero(&Z::overlap_comm)));
  add(honoured_or_auto<int64_t>(kZero + "reduce_bucket_size", one, zero(&Z::reduce_bucket_size)));
  add(honoured<int64_t>(kZero + "allgather_bucket_size", one, zero(&Z::allgather_bucket_size)));
  add(honoured_or_auto<int64_t>(kZero + "stage3_prefetch_bucket_size", none,
                                zero(&Z::stage3_prefetch_bucket_size)));
  add(honoured_or_auto<int64_t>(kZero + "stage3_param_persistence_threshold", none,
                                zero(&Z::stage3_param_persistence_threshold)));
}

void add_without_effect(std::vector<Key>& keys) {
  const auto add = [&](const std::vector<std::string>& names, ValueKind kind,
                       const std::string& why, const std::vector<std::string>& quiet = {}) {
    for (const std::string& name : names)
      keys.push_back(without_effect(kZero + name, kind, why, quiet));
  };
  add({"contiguous_gradients", "reduce_scatter", "allgather_partitions"}, boolean,
      "gradients are always reduced and scattered from contiguous buffers, and weights gathered",
      {"true"});
  add({"use_multi_rank_bucket_allreduce"}, boolean,
      "a reduce-scatter sends each rank its own share and no more");
  add({"sub_group_size"}, integer, "states are updated in pieces that need no f32 copy of a group");
  add({"stage3_model_persistence_threshold"}, integer,
      "stage3_param_persistence_threshold alone says what stays whole");
  add({"stage3_gather_16bit_weights_on_model_save"}, boolean,
      "the model is saved whole, tensor by tensor", {"true"});
  add({"round_robin_gradients"}, boolean,
      "every unit is cut evenly over the ranks, so no rank waits for another's copies", {"false"});
  add({"load_from_fp32_weights"}, boolean,
      "the f32 master starts from the model's weights as they are stored", {"true"});
  add({"stage3_max_live_parameters", "stage3_max_reuse_distance"}, integer,
      "at most two gathered units are alive, whatever their size");
  add({"stage3_module_granularity_threshold"}, integer, "a unit is a block of the model", {"0"});
  add({"stage3_use_all_reduce_for_fetch_params", "stage3_allgather_sequential"}, boolean,
      "a unit is gathered by one all-gather", {"false"});
  add({"zeropp_loco_param"}, anything, "it belongs to zero_quantized_gradients");
  add({"mics_hierarchical_params_gather"}, boolean, "it belongs to mics_shard_size", {"false"});
  add({"ignore_unused_parameters", "memory_efficient_linear", "override_module_apply",
       "legacy_stage1", "log_trace_cache_warnings", "enable_sanity_checks",
       "pipeline_loading_checkpoint", "elastic_checkpoint"},
      boolean, "it steers DeepSpeed's own code, and Cairn has its own");
  add({"leaf_module", "zenflow"}, anything,
      "it steers DeepSpeed's own code, and Cairn has its own");
}

}  // namespace

std::vector<Key> zero_keys() {
  std::vector<Key> keys;
  add_sizes(keys);
  add_offload_keys(keys);
  add_without_effect(keys);
  const std::string whole = "shards here span all ranks; leave it out";
  keys.push_back(refused(kZero + "zero_hpz_partition_size", whole, {"1", "1.0"}));
  keys.push_back(refused(kZero + "mics_shard_size", whole, {"-1"}));
  for (const char* name : {"zero_quantized_weights", "zero_quantized_nontrainable_weights"})
    keys.push_back(refused(kZero + name,
                           "use quantization_bit: 4 in the recipe, whose gathers move 4-bit bytes",
                           {"false"}));
  keys.push_back(refused(kZero + "zero_quantized_gradients",
                         "gradients are summed exactly; leave it out", {"false"}));
  return keys;
}

}  // namespace cairn::deepspeed
