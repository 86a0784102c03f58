// What Hugging Face's trainer and trl write of their own arguments, with their defaults, is read as
// it is.
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/recipe.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

// SFTConfig("out").to_json_string() of trl 1 on transformers 5.
constexpr const char* kSftConfig = R"({
  "output_dir": "out", "per_device_train_batch_size": 8, "num_train_epochs": 3.0, "max_steps": -1,
  "learning_rate": 2e-05, "lr_scheduler_type": "linear", "lr_scheduler_kwargs": null,
  "warmup_steps": 0, "optim": "adamw_torch_fused", "optim_args": null, "weight_decay": 0.0,
  "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-08, "optim_target_modules": null,
  "gradient_accumulation_steps": 1, "average_tokens_across_devices": true, "max_grad_norm": 1.0,
  "label_smoothing_factor": 0.0, "bf16": true, "fp16": false, "bf16_full_eval": false,
  "fp16_full_eval": false, "tf32": null, "activation_checkpointing": true,
  "activation_checkpointing_kwargs": null, "gradient_checkpointing": true,
  "gradient_checkpointing_kwargs": null, "torch_compile": false, "torch_compile_backend": null,
  "torch_compile_mode": null, "use_liger_kernel": false, "liger_kernel_config": null,
  "use_cache": false, "neftune_noise_alpha": null, "torch_empty_cache_steps": null,
  "auto_find_batch_size": false, "logging_strategy": "steps", "logging_steps": 10,
  "logging_first_step": false, "log_on_each_node": true, "logging_nan_inf_filter": true,
  "include_num_input_tokens_seen": "no", "log_level": "passive", "log_level_replica": "warning",
  "disable_tqdm": false, "report_to": [], "run_name": null, "project": "huggingface",
  "trackio_space_id": null, "trackio_bucket_id": null, "trackio_static_space_id": null,
  "eval_strategy": "no", "eval_steps": null, "eval_delay": 0, "per_device_eval_batch_size": 8,
  "prediction_loss_only": false, "eval_on_start": false, "eval_do_concat_batches": true,
  "eval_use_gather_object": false, "eval_accumulation_steps": null, "include_for_metrics": [],
  "batch_eval_metrics": false, "save_only_model": false, "save_strategy": "steps",
  "save_steps": 500, "save_on_each_node": false, "save_total_limit": null,
  "enable_jit_checkpoint": false, "push_to_hub": false, "hub_token": "<HUB_TOKEN>",
  "hub_private_repo": null, "hub_model_id": null, "hub_strategy": "every_save",
  "hub_always_push": false, "hub_revision": null, "load_best_model_at_end": false,
  "metric_for_best_model": null, "greater_is_better": null, "ignore_data_skip": false,
  "restore_callback_states_from_checkpoint": false, "full_determinism": false, "seed": 42,
  "data_seed": null, "use_cpu": false, "accelerator_config": {"split_batches": false,
  "dispatch_batches": null, "even_batches": true, "use_seedable_sampler": true,
  "non_blocking": false, "gradient_accumulation_kwargs": null}, "parallelism_config": null,
  "dataloader_drop_last": false, "dataloader_num_workers": 0, "dataloader_pin_memory": true,
  "dataloader_persistent_workers": false, "dataloader_prefetch_factor": null,
  "dataloader_multiprocessing_context": null, "dataloader_in_order": true,
  "remove_unused_columns": true, "label_names": null, "train_sampling_strategy": "random",
  "length_column_name": "length", "ddp_find_unused_parameters": null, "ddp_bucket_cap_mb": null,
  "ddp_broadcast_buffers": null, "ddp_static_graph": null, "ddp_backend": null,
  "ddp_timeout": 1800, "fsdp": null, "fsdp_config": null, "deepspeed": null, "debug": [],
  "skip_memory_metrics": true, "do_train": false, "do_eval": false, "do_predict": false,
  "resume_from_checkpoint": null, "local_rank": -1, "model_init_kwargs": null,
  "chat_template_path": null, "dataset_text_field": "text", "dataset_kwargs": null,
  "dataset_num_proc": null, "eos_token": "<EOS_TOKEN>", "max_length": 1024,
  "truncation_mode": "keep_start", "shuffle_dataset": false, "packing": false,
  "packing_strategy": "bfd", "padding_free": false, "pad_to_multiple_of": null,
  "eval_packing": null, "completion_only_loss": null, "assistant_only_loss": false,
  "loss_type": "chunked_nll", "activation_offloading": false, "pad_token": "<PAD_TOKEN>"})";

// What Seq2SeqTrainingArguments of transformers 4 have beside these, or otherwise.
constexpr const char* kOlderArguments = R"({
  "output_dir": "out", "overwrite_output_dir": false, "evaluation_strategy": null,
  "eval_strategy": "no", "per_gpu_train_batch_size": null, "per_gpu_eval_batch_size": null,
  "lr_scheduler_kwargs": {}, "warmup_ratio": 0.0, "save_safetensors": true, "logging_dir": "runs",
  "no_cuda": false, "use_mps_device": false, "jit_mode_eval": false, "use_ipex": false,
  "fp16_opt_level": "O1", "half_precision_backend": "auto", "fp16_backend": "auto",
  "tpu_num_cores": null, "tpu_metrics_debug": false, "past_index": -1, "run_name": "out",
  "fsdp": [], "fsdp_min_num_params": 0, "fsdp_config": {"min_num_params": 0, "xla": false,
  "xla_fsdp_v2": false, "xla_fsdp_grad_ckpt": false}, "fsdp_transformer_layer_cls_to_wrap": null,
  "group_by_length": false, "gradient_checkpointing": false, "adafactor": false,
  "include_inputs_for_metrics": false, "include_tokens_per_second": false,
  "include_num_input_tokens_seen": false, "use_legacy_prediction_loop": false,
  "push_to_hub_model_id": null, "push_to_hub_organization": null,
  "push_to_hub_token": "<PUSH_TO_HUB_TOKEN>", "mp_parameters": "", "torchdynamo": null,
  "ray_scope": "last", "dispatch_batches": null, "split_batches": null, "debug": "",
  "sharded_ddp": [], "report_to": ["tensorboard"], "optim": "adamw_torch",
  "sortish_sampler": false, "predict_with_generate": false, "generation_max_length": null,
  "generation_num_beams": null, "generation_config": null})";

Recipe read_dump(const char* text) {
  return parse_recipe(text, RecipeFormat::json, {"model_name_or_path=m"}, "args.json");
}

std::vector<std::string> noted_keys(const Recipe& recipe) {
  std::vector<std::string> keys;
  for (const Note& note : recipe.notes) keys.push_back(note.key);
  return keys;
}

TEST(RecipeDump, an_sft_config_of_defaults_is_read_and_what_differs_here_is_named) {
  const Recipe recipe = read_dump(kSftConfig);
  EXPECT_EQ(recipe.data.cutoff_len, 1024);
  EXPECT_EQ(recipe.train.learning_rate, 2e-5);
  EXPECT_TRUE(recipe.train.bf16);
  EXPECT_EQ(recipe.memory.checkpointing, *parse_policy("block"));
  EXPECT_EQ(noted_keys(recipe),
            (std::vector<std::string>{"log_on_each_node", "logging_nan_inf_filter",
                                      "enable_jit_checkpoint", "accelerator_config", "padding_free",
                                      "assistant_only_loss"}));
}

TEST(RecipeDump, arguments_of_an_older_trainer_are_read_too) {
  const Recipe recipe = read_dump(kOlderArguments);
  EXPECT_EQ(recipe.memory.checkpointing, *parse_policy("none"));
  EXPECT_EQ(noted_keys(recipe), (std::vector<std::string>{"logging_dir", "run_name", "report_to"}));
}

TEST(RecipeDump, what_asks_for_something_else_is_refused_by_its_key) {
  for (const char* given :
       {"eval_on_start=true", "fsdp=full_shard", "fsdp=[full_shard]", "fsdp_config=f.json",
        "fsdp_config={min_num_params: 1000}", "fsdp_config={xla: true}", "past_index=0",
        "split_batches=true", "sortish_sampler=true", "per_gpu_train_batch_size=4",
        "train_sampling_strategy=batch_rebalance", "train_sampling_strategy=sorted",
        "parallelism_config={tp_size: 2}", "truncation_mode=keep_end", "eos_token=</s>",
        "loss_type=dft", "lr_scheduler_kwargs={num_cycles: 2}", "dataset_text_field=content"}) {
    const std::string key = std::string(given).substr(0, std::string(given).find('='));
    try {
      parse_recipe("model_name_or_path: m", RecipeFormat::yaml, {given});
      ADD_FAILURE() << given << " was read";
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(key + ":")) << error.what();
    }
  }
}

TEST(RecipeDump, an_empty_fsdp_asks_for_nothing) {
  for (const char* empty : {"''", "[]", "{}", "null", "false"})
    EXPECT_TRUE(parse_recipe("model_name_or_path: m\nfsdp: " + std::string(empty) +
                             "\nfsdp_config: " + empty)
                    .notes.empty())
        << empty;
}

TEST(RecipeDump, the_trainers_newer_names_mean_what_they_say) {
  const auto parsed = [](const std::string& lines) {
    return parse_recipe("model_name_or_path: m\n" + lines);
  };
  EXPECT_TRUE(parsed("train_sampling_strategy: sequential").data.disable_shuffling);
  EXPECT_TRUE(parsed("train_sampling_strategy: group_by_length").data.group_by_length);
  EXPECT_EQ(parsed("activation_checkpointing: false").memory.checkpointing, *parse_policy("none"));
  EXPECT_FALSE(
      parsed("activation_checkpointing: true\nmemory_budget: 1GiB").memory.checkpointing.is_auto());
  for (const char* both : {"activation_checkpointing: true\ngradient_checkpointing: every:2",
                           "gradient_checkpointing: every:2\nactivation_checkpointing: true"}) {
    EXPECT_EQ(to_string(parsed(both).memory.checkpointing), "every:2");
    EXPECT_EQ(noted_keys(parsed(both)), std::vector<std::string>{"activation_checkpointing"});
  }
  EXPECT_THROW(parsed("activation_checkpointing: true\ndisable_gradient_checkpointing: true"),
               UserError);
}

}  // namespace
}  // namespace cairn
