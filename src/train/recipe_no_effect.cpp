// The keys that a recipe may carry and that change nothing here, each with the reason that its note
// gives. A key belongs here only if leaving it out leaves what is trained as it is.
#include "train/recipe_key.h"

namespace cairn {
namespace {

using enum ValueKind;

// One reason for many keys.
std::vector<RecipeKey> alike(const std::vector<std::string>& names, ValueKind kind,
                             const std::string& why, const std::vector<std::string>& quiet = {}) {
  std::vector<RecipeKey> keys;
  for (const std::string& name : names) keys.push_back(no_effect(name, kind, why, quiet));
  return keys;
}

const std::string kOwnReader = "models are read from a folder by Cairn's own code";
const std::string kTextOnly = "Cairn trains models of text";
const std::string kExport = "this version does not merge; PEFT and LLaMA-Factory merge the adapter";

void add_model_keys(std::vector<RecipeKey>& keys) {
  const auto add = [&](std::vector<RecipeKey> more) {
    for (RecipeKey& key : more) {
      key.subject = "model";
      keys.push_back(std::move(key));
    }
  };
  add({no_effect("enable_liger_kernel", boolean,
                 "the head and the cross-entropy are always one chunked layer", {"false"}),
       no_effect("use_unsloth", boolean, "Cairn's own kernels are used", {"false"}),
       no_effect("use_v1_kernels", boolean, "Cairn's own kernels are used", {"false"}),
       no_effect("upcast_lmhead_output", boolean, "logits are always f32"),
       no_effect("use_kv_cache", boolean, "generation always keeps a cache, training never"),
       no_effect("infer_dtype", text, "generation stores what training stores", {"auto"}),
       no_effect("init_special_tokens", text, "no tokens are added"),
       no_effect("print_param_status", boolean, "ledger.json names what holds the memory",
                 {"false"})});
  add(alike({"trust_remote_code", "low_cpu_mem_usage", "use_fast_tokenizer"}, boolean, kOwnReader));
  add(alike({"cache_dir", "model_revision", "hf_hub_token", "ms_hub_token", "om_hub_token",
             "offload_folder", "infer_backend"},
            text, kOwnReader));
  add(alike({"fp8_backend"}, text, "it belongs to fp8"));
  add(alike({"fp8_enable_fsdp_float8_all_gather"}, boolean, "it belongs to fp8"));
  add(alike({"image_max_pixels", "image_min_pixels", "video_max_pixels", "video_min_pixels",
             "video_maxlen", "audio_sampling_rate"},
            integer, kTextOnly));
  add(alike({"video_fps"}, number, kTextOnly));
  add(alike({"freeze_vision_tower", "freeze_multi_modal_projector", "freeze_language_model",
             "image_do_pan_and_scan", "crop_to_patches", "use_audio_in_video"},
            boolean, kTextOnly));
  add(alike({"export_dir", "export_device", "export_quantization_dataset", "export_hub_model_id"},
            text, kExport));
  add(alike({"export_size", "export_quantization_bit", "export_quantization_nsamples",
             "export_quantization_maxlen"},
            integer, kExport));
  add(alike({"export_legacy_format"}, boolean, kExport));
}

void add_method_keys(std::vector<RecipeKey>& keys) {
  const auto add = [&](const std::vector<std::string>& names, ValueKind kind,
                       const std::string& why) {
    for (RecipeKey& key : alike(names, kind, why)) {
      key.subject = "method";
      keys.push_back(std::move(key));
    }
  };
  add({"freeze_trainable_layers"}, integer, "it belongs to finetuning_type: freeze");
  add({"freeze_trainable_modules", "freeze_extra_modules"}, text,
      "it belongs to finetuning_type: freeze");
  add({"loraplus_lr_embedding"}, number,
      "it is the rate of low-rank pairs of embeddings, and pairs here belong to products");
  add({"pissa_iter"}, integer, "it belongs to pissa_init");
  add({"oft_rank", "oft_block_size"}, integer, "it belongs to finetuning_type: oft");
  add({"module_dropout"}, number, "it belongs to finetuning_type: oft");
  add({"oft_target"}, text, "it belongs to finetuning_type: oft");
  add({"pref_beta", "pref_ftx", "pref_bco_weight", "dpo_label_smoothing", "kto_chosen_weight",
       "kto_rejected_weight", "simpo_gamma", "ld_alpha"},
      number, "it belongs to the stages dpo and kto");
  add({"pref_loss", "ref_model", "ref_model_adapters"}, text,
      "it belongs to the stages dpo and kto");
  add({"galore_rank", "galore_update_interval"}, integer, "it belongs to use_galore");
  add({"galore_scale"}, number, "it belongs to use_galore");
  add({"galore_target", "galore_proj_type"}, text, "it belongs to use_galore");
  add({"galore_layerwise"}, boolean, "it belongs to use_galore");
  add({"apollo_rank", "apollo_update_interval"}, integer, "it belongs to use_apollo");
  add({"apollo_scale"}, number, "it belongs to use_apollo");
  add({"apollo_target", "apollo_proj", "apollo_proj_type", "apollo_scale_type"}, text,
      "it belongs to use_apollo");
  add({"apollo_layerwise", "apollo_scale_front"}, boolean, "it belongs to use_apollo");
  add({"badam_start_block", "badam_switch_interval", "badam_verbose"}, integer,
      "it belongs to use_badam");
  add({"badam_update_ratio"}, number, "it belongs to use_badam");
  add({"badam_mode", "badam_switch_mode", "badam_mask_mode"}, text, "it belongs to use_badam");
  add({"asft_alpha"}, number, "it belongs to use_asft_loss");
}

void add_data_keys(std::vector<RecipeKey>& keys) {
  const auto add = [&](const std::vector<std::string>& names, ValueKind kind,
                       const std::string& why, const std::vector<std::string>& quiet = {}) {
    for (RecipeKey& key : alike(names, kind, why, quiet)) {
      key.subject = "data";
      keys.push_back(std::move(key));
    }
  };
  const std::string prepared = "every sample is tokenised once, in this process, before step 1";
  add({"preprocessing_num_workers", "dataloader_num_workers", "dataloader_prefetch_factor"},
      integer, prepared, {"0"});
  add({"data_shared_file_system", "dataloader_persistent_workers"}, boolean, prepared, {"false"});
  add({"dataloader_pin_memory", "dataloader_in_order"}, boolean, prepared, {"true"});
  add({"dataloader_multiprocessing_context"}, text, prepared);
  keys.push_back(no_effect("streaming", boolean,
                           "text is always streamed to the token cache, and tokens from there",
                           {"false"}));
  keys.back().subject = "data";
  add({"buffer_size"}, integer, "every row of the token cache can be drawn, so none is buffered");
  add({"media_dir"}, text, kTextOnly);
  add({"eval_num_beams"}, integer, "evaluation measures the loss and generates nothing");
  add({"remove_unused_columns", "label_names"}, anything,
      "the columns of a data set are named in dataset_info.json", {"true"});
}

void add_train_keys(std::vector<RecipeKey>& keys) {
  const auto add = [&](const std::vector<std::string>& names, ValueKind kind,
                       const std::string& why, const std::vector<std::string>& quiet = {}) {
    for (RecipeKey& key : alike(names, kind, why, quiet)) {
      key.subject = "train";
      keys.push_back(std::move(key));
    }
  };
  const std::string own_backward = "the backward pass is Cairn's own and recomputes block by block";
  const std::string one_process = "mpirun starts the ranks, and Cairn exchanges tensors itself";
  const std::string reports = "Cairn reports to trainer_log.jsonl in output_dir and to no service";
  const std::string logs = "trainer_log.jsonl always has throughput and total_tokens";
  add({"use_reentrant_gc"}, boolean, own_backward);
  add({"gradient_checkpointing_kwargs"}, anything, own_backward);
  add({"ddp_bucket_cap_mb", "local_rank", "ray_num_workers"}, integer, one_process, {"-1"});
  add({"ddp_find_unused_parameters", "ddp_broadcast_buffers", "ddp_static_graph"}, boolean,
      one_process, {"false"});
  add({"average_tokens_across_devices"}, boolean,
      "the loss is always divided by the label tokens of all ranks", {"true"});
  add({"ddp_backend", "ray_run_name", "ray_storage_path", "ray_storage_filesystem",
       "placement_strategy"},
      text, one_process);
  add({"ray_init_kwargs", "resources_per_worker", "accelerator_config"}, anything, one_process);
  add({"report_to"}, anything, reports, {"none"});
  add({"run_name", "logging_dir", "swanlab_project", "swanlab_workspace", "swanlab_run_name",
       "swanlab_mode", "swanlab_logdir"},
      text, reports);
  add({"use_swanlab"}, boolean, reports, {"false"});
  add({"include_tokens_per_second", "include_effective_tokens_per_second"}, boolean, logs,
      {"false"});
  add({"include_num_input_tokens_seen"}, anything, logs, {"no", "false"});
  add({"compute_accuracy"}, boolean, "evaluation measures the loss alone", {"false"});
  add({"do_eval"}, boolean, "eval_strategy says whether and when to evaluate", {"false"});
  add({"prediction_loss_only"}, boolean, "evaluation measures the loss alone", {"false", "true"});
  add({"eval_accumulation_steps", "eval_delay"}, number,
      "evaluation keeps no logits and starts with the first eval_steps", {"0", "0.0"});
  add({"save_safetensors"}, boolean, "weights are always saved as safetensors", {"true"});
  add({"save_on_each_node"}, boolean, one_process, {"false"});
  add({"logging_nan_inf_filter"}, boolean, "the loss is logged as it is");
  add({"log_level", "log_level_replica"}, text, "progress is told on stderr at logging_steps",
      {"passive", "warning"});
  add({"disable_tqdm"}, boolean, "a bar is shown on a terminal and plain lines elsewhere",
      {"false"});
  add({"tf32", "full_determinism", "bf16_full_eval", "fp16_full_eval"}, boolean,
      "arithmetic is f32, its order fixed, and evaluation computes as training does", {"false"});
  add({"half_precision_backend", "fp16_opt_level", "mixed_precision"}, text,
      "bf16 and trained_precision say what is stored", {"auto", "O1"});
  add({"torch_compile"}, boolean, "there is nothing to compile", {"false"});
  add({"torch_compile_backend", "torch_compile_mode"}, text, "there is nothing to compile");
  add({"torch_empty_cache_steps"}, integer, "the arena is reserved once and never grows");
  add({"skip_memory_metrics"}, boolean, "the ledger is always kept", {"true"});
  add({"use_cpu"}, boolean, "device says where to run", {"false"});
  add({"fsdp_transformer_layer_cls_to_wrap"}, text, "it belongs to fsdp");
  add({"fsdp_min_num_params"}, integer, "it belongs to fsdp", {"0"});
  add({"ignore_data_skip", "restore_callback_states_from_checkpoint"}, boolean,
      "a run that resumes goes on at its own place in the data, with all that it had told",
      {"false"});
  add({"metric_for_best_model"}, text, "it belongs to load_best_model_at_end");
  add({"greater_is_better"}, boolean, "it belongs to load_best_model_at_end");
  const std::string hub = "it belongs to push_to_hub";
  // A dump of arguments writes every token as such a mask.
  add({"hub_model_id", "hub_strategy", "hub_token", "hub_revision", "push_to_hub_model_id",
       "push_to_hub_organization", "push_to_hub_token"},
      text, hub, {"every_save", "<HUB_TOKEN>", "<PUSH_TO_HUB_TOKEN>"});
  add({"hub_private_repo", "hub_always_push"}, boolean, hub, {"false"});
}

void add_generate_keys(std::vector<RecipeKey>& keys) {
  const auto add = [&](std::string_view subject, RecipeKey key) {
    key.subject = subject;
    keys.push_back(std::move(key));
  };
  const auto by_flag = [](const char* flag) {
    return fmt::format("training generates nothing; give cairn generate {}", flag);
  };
  add("generate", no_effect("max_new_tokens", integer, by_flag("--max-new-tokens")));
  add("generate", no_effect("do_sample", boolean, by_flag("--temperature, 0 for no sampling")));
  add("generate", no_effect("temperature", number, by_flag("--temperature")));
  add("generate", no_effect("top_p", number, by_flag("--top-p")));
  add("generate", no_effect("top_k", integer, by_flag("--top-k")));
  const std::string sampled =
      "training generates nothing; cairn generate samples by --temperature, --top-p and --top-k";
  add("generate", no_effect("num_beams", integer, sampled, {"1"}));
  add("generate", no_effect("repetition_penalty", number, sampled, {"1", "1.0"}));
  add("generate", no_effect("length_penalty", number, "it belongs to num_beams"));
  add("generate", no_effect("skip_special_tokens", boolean, "special tokens are never printed"));
}

}  // namespace

std::vector<RecipeKey> no_effect_keys() {
  std::vector<RecipeKey> keys;
  add_model_keys(keys);
  add_method_keys(keys);
  add_data_keys(keys);
  add_train_keys(keys);
  add_generate_keys(keys);
  return keys;
}

}  // namespace cairn
