// Keys of LLaMA-Factory that belong to other trainers (Megatron, KTransformers, PPO) or to tools
// beside training (serving, profiling). What only describes such a tool has no effect; what would
// hand the training over to it is refused.
#include "train/recipe_key.h"

namespace cairn {
namespace {

using enum ValueKind;

void add(std::vector<RecipeKey>& keys, const std::string& subject,
         const std::vector<std::string>& names, ValueKind kind, const std::string& why,
         const std::vector<std::string>& quiet = {}) {
  for (const std::string& name : names) {
    keys.push_back(no_effect(name, kind, why, quiet));
    keys.back().subject = subject;
  }
}

void add_refused(std::vector<RecipeKey>& keys, const std::string& subject, RecipeKey key) {
  key.subject = subject;
  keys.push_back(std::move(key));
}

void add_megatron(std::vector<RecipeKey>& keys) {
  const std::string sizes = "Cairn shards by ZeRO; use zero_stage, or leave this key out";
  for (const char* name :
       {"tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size",
        "context_parallel_size", "virtual_pipeline_model_parallel_size"})
    add_refused(keys, "method", refused_unless(name, int64_t{1}, sizes));
  const std::string megatron = "it belongs to Megatron";
  add(keys, "method",
      {"sequence_parallel", "use_distributed_optimizer", "overlap_param_gather",
       "overlap_grad_reduce", "bias_activation_fusion", "apply_rope_fusion",
       "masked_softmax_fusion", "cross_entropy_loss_fusion", "use_packed_sequences",
       "export_hf_on_finish", "moe_grouped_gemm", "moe_shared_expert_overlap",
       "moe_permute_fusion"},
      boolean, megatron);
  add(keys, "method",
      {"recompute_granularity", "recompute_method", "megatron_pretrained_checkpoint",
       "moe_token_dispatcher_type", "moe_router_load_balancing_type"},
      text, megatron);
  add(keys, "method", {"recompute_num_layers"}, integer, megatron);
  add(keys, "method", {"extra_config"}, anything, megatron);
  add_refused(keys, "method", refused_unless("use_mca", false, "Cairn's own engine trains"));
  add_refused(keys, "method",
              refused_unless("use_hyper_parallel", false, "Cairn's own engine trains"));
  add(keys, "method", {"hyper_parallel_args"}, anything, "it belongs to use_hyper_parallel");
}

void add_other_models(std::vector<RecipeKey>& keys) {
  add(keys, "model",
      {"kt_expert_checkpoint_path", "kt_weight_path", "kt_method", "kt_config", "kt_optimize_rule",
       "kt_mode", "mode"},
      anything, "it belongs to use_kt");
  add(keys, "model", {"kt_use_lora_experts", "kt_use_cuda_graph", "kt_force_think"}, boolean,
      "it belongs to use_kt");
  add(keys, "model",
      {"kt_lora_expert_num", "kt_lora_expert_intermediate_size", "kt_maxlen", "chunk_size",
       "cpu_infer"},
      integer, "it belongs to use_kt");
  const std::string serving = "it belongs to serving a model, and generation here is Cairn's own";
  add(keys, "model", {"vllm_maxlen", "vllm_max_lora_rank", "sglang_maxlen", "sglang_tp_size"},
      integer, serving);
  add(keys, "model", {"vllm_gpu_util", "sglang_mem_fraction"}, number, serving);
  add(keys, "model", {"vllm_enforce_eager"}, boolean, serving);
  add(keys, "model", {"vllm_config", "sglang_config"}, anything, serving);
  add(keys, "model", {"sglang_lora_backend"}, text, serving);
  add(keys, "model", {"compute_dtype", "device_map"}, text, "bf16 and device say so here");
  add(keys, "model", {"model_max_length"}, integer, "cutoff_len says how long a sample may be");
  add_refused(keys, "model",
              refused_unless("block_diag_attn", false, "packed samples never see each other here"));
}

void add_other_stages(std::vector<RecipeKey>& keys) {
  const std::string ppo = "it belongs to the stages rm and ppo";
  add(keys, "method", {"ppo_buffer_size", "ppo_epochs"}, integer, ppo);
  add(keys, "method", {"ppo_target"}, number, ppo);
  add(keys, "method", {"ppo_score_norm", "ppo_whiten_rewards"}, boolean, ppo);
  add(keys, "method", {"reward_model", "reward_model_adapters", "reward_model_type"}, text, ppo);
  add(keys, "method", {"ref_model_quantization_bit", "reward_model_quantization_bit"}, integer,
      ppo);
  add(keys, "method", {"eaft_alpha"}, number, "it belongs to use_eaft_loss");
}

void add_profiling(std::vector<RecipeKey>& keys) {
  add_refused(keys, "train",
              refused_unless("enable_torch_profiler", false, "use cairn bench step"));
  const std::string profiler = "it belongs to enable_torch_profiler";
  add(keys, "train",
      {"profiler_active_steps", "profiler_repeat", "profiler_wait_steps", "profiler_warmup_steps"},
      integer, profiler);
  add(keys, "train", {"profiler_profile_memory", "profiler_record_shapes", "profiler_with_stack"},
      boolean, profiler);
  add(keys, "train", {"profiler_output_dir", "profile_modules"}, text, profiler);
  add(keys, "train", {"swanlab_api_key", "swanlab_lark_secret", "swanlab_lark_webhook_url"}, text,
      "Cairn reports to trainer_log.jsonl in output_dir and to no service");
  add(keys, "train", {"master_addr"}, text, "mpirun says where ranks meet");
  add(keys, "train", {"master_port"}, integer, "mpirun says where ranks meet");
}

}  // namespace

std::vector<RecipeKey> other_keys() {
  std::vector<RecipeKey> keys;
  add_megatron(keys);
  add_other_models(keys);
  add_other_stages(keys);
  add_profiling(keys);
  return keys;
}

}  // namespace cairn
