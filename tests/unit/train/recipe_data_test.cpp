// The keys of data, templates and stages, the names of trl's SFTConfig, and the whole list of keys
// that LLaMA-Factory's examples use.
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/recipe.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

Recipe parsed(const std::string& lines) { return parse_recipe("model_name_or_path: m\n" + lines); }

std::string refusal_of(const std::string& lines) {
  try {
    parsed(lines);
  } catch (const UserError& error) {
    return error.what();
  }
  return "(read)";
}

bool has_note(const Recipe& recipe, const std::string& key) {
  for (const Note& note : recipe.notes)
    if (note.key == key) return true;
  return false;
}

TEST(RecipeData, pre_training_packs_unless_told_otherwise) {
  EXPECT_TRUE(parsed("stage: pt\n").data.packing);
  EXPECT_FALSE(parsed("stage: pt\npacking: false\n").data.packing);
  EXPECT_FALSE(parsed("stage: sft\n").data.packing);
  const Recipe recipe = parsed("stage: pt\n");
  const Recipe again = parse_recipe(to_yaml(recipe));
  EXPECT_EQ(again.data, recipe.data);
  EXPECT_EQ(again.method, recipe.method);
}

TEST(RecipeData, thinking_is_true_false_or_null) {
  EXPECT_EQ(parsed("").data.enable_thinking, true);
  EXPECT_EQ(parsed("enable_thinking: no\n").data.enable_thinking, false);
  EXPECT_EQ(parsed("enable_thinking: null\n").data.enable_thinking, std::nullopt);
  EXPECT_EQ(parse_recipe(to_yaml(parsed("enable_thinking: null\n"))).data.enable_thinking,
            std::nullopt);
  EXPECT_NE(refusal_of("enable_thinking: maybe\n").find("true, false or null"), std::string::npos);
}

TEST(RecipeData, data_sets_are_mixed_by_shares) {
  const Recipe recipe =
      parsed("dataset: a,b\nmix_strategy: interleave_over\ninterleave_probs: 0.25, 0.75\n");
  EXPECT_EQ(recipe.data.mix_strategy, MixStrategy::interleave_over);
  EXPECT_EQ(recipe.data.interleave_probs, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(parse_recipe(to_yaml(recipe)).data, recipe.data);
  EXPECT_NE(refusal_of("dataset: a,b\ninterleave_probs: 0.5,0.5\n").find("mix_strategy"),
            std::string::npos);
  EXPECT_NE(refusal_of("dataset: a\nmix_strategy: interleave_under\ninterleave_probs: 0.5,0.5\n")
                .find("different counts"),
            std::string::npos);
  EXPECT_NE(
      refusal_of("mix_strategy: interleave_under\ninterleave_probs: 0.5,0.6\n").find("add up to 1"),
      std::string::npos);
  EXPECT_NE(refusal_of("mix_strategy: shuffle\n").find("interleave_under"), std::string::npos);
}

TEST(RecipeData, keys_that_contradict_each_other_are_refused) {
  const std::vector<std::pair<const char*, const char*>> refusals = {
      {"stage: pt\nneat_packing: true\n", "neat_packing"},
      {"stage: pt\ntrain_on_prompt: true\n", "train_on_prompt"},
      {"stage: pt\nmask_history: true\n", "mask_history"},
      {"streaming: true\ndataset: a\nval_size: 0.1\nmax_steps: 1\n", "val_size"},
      {"streaming: true\nmax_samples: 5\nmax_steps: 1\n", "max_samples"},
      {"streaming: true\n", "max_steps"},
      {"train_on_prompt: true\nmask_history: true\n", "contradict"},
      {"stage: dpo\n", "sft, pt"}};
  for (const auto& [lines, words] : refusals)
    EXPECT_NE(refusal_of(lines).find(words), std::string::npos) << lines << refusal_of(lines);
  EXPECT_TRUE(has_note(parsed("streaming: true\nmax_steps: 1\n"), "streaming"));
  EXPECT_TRUE(parsed("streaming: false\n").notes.empty());
}

TEST(RecipeData, the_names_of_an_sft_config_are_understood) {
  const Recipe recipe = parse_recipe(
      R"({"model_name_or_path": "m", "max_length": 1024, "gradient_checkpointing": true,
          "optim": "adamw_torch_fused", "attn_implementation": "flash_attention_2", "bf16": true,
          "per_device_train_batch_size": 2, "packing": true, "gradient_accumulation_steps": 4,
          "padding_free": false, "dataset_num_proc": 8, "learning_rate": 2e-4,
          "lr_scheduler_type": "cosine", "warmup_ratio": 0.03, "activation_offloading": false})",
      RecipeFormat::json);
  EXPECT_EQ(recipe.data.cutoff_len, 1024);
  EXPECT_EQ(recipe.model.flash_attn, FlashAttention::fa2);
  EXPECT_TRUE(recipe.data.packing);
  EXPECT_TRUE(recipe.train.bf16);
  EXPECT_TRUE(has_note(recipe, "padding_free"));
  EXPECT_EQ(parsed("max_seq_length: 77\n").data.cutoff_len, 77);
  const Recipe both = parsed("cutoff_len: 55\nmax_length: 77\n");
  EXPECT_EQ(both.data.cutoff_len, 55);
  EXPECT_TRUE(has_note(both, "max_length"));
  EXPECT_NE(refusal_of("max_length: 0\n").find("max_length"), std::string::npos);
  EXPECT_NE(refusal_of("completion_only_loss: false\n").find("train_on_prompt"), std::string::npos);
}

// LLaMA-Factory's keys, as its example recipes and its page of arguments name them.
TEST(RecipeData, every_key_of_the_examples_is_in_the_table) {
  const std::vector<const char*> keys = {
      "model_name_or_path", "trust_remote_code", "image_max_pixels", "video_max_pixels",
      "video_fps", "video_maxlen", "use_reentrant_gc", "quantization_bit", "quantization_method",
      "double_quantization", "stage", "do_train", "finetuning_type", "lora_rank", "lora_target",
      "pref_beta", "pref_loss", "freeze_vision_tower", "freeze_multi_modal_projector",
      "freeze_language_model", "deepspeed", "dataset", "eval_dataset", "dataset_dir", "template",
      "cutoff_len", "max_samples", "preprocessing_num_workers", "dataloader_num_workers",
      "tokenized_path", "packing", "output_dir", "logging_steps", "save_steps", "plot_loss",
      "overwrite_output_dir", "save_only_model", "report_to", "per_device_train_batch_size",
      "gradient_accumulation_steps", "gradient_checkpointing", "gradient_checkpointing_kwargs",
      "learning_rate", "num_train_epochs", "lr_scheduler_type", "warmup_ratio", "bf16",
      "ddp_timeout", "resume_from_checkpoint", "val_size", "per_device_eval_batch_size",
      "eval_strategy", "eval_steps", "ray_num_workers", "ray_init_kwargs",
      // merging and inference
      "adapter_name_or_path", "infer_backend", "export_dir", "export_size", "export_device",
      "export_legacy_format", "export_quantization_bit", "export_quantization_dataset",
      // extras
      "use_v1_kernels", "flash_attn", "overwrite_cache", "max_steps",
      "disable_gradient_checkpointing", "seed", "use_adam_mini", "use_apollo", "apollo_layerwise",
      "apollo_target", "apollo_rank", "apollo_scale", "apollo_scale_type", "pure_bf16",
      "use_asft_loss", "asft_alpha", "use_badam", "badam_mode", "badam_switch_mode",
      "badam_switch_interval", "badam_verbose", "use_dft_loss", "use_eaft_loss", "fp8",
      "fp8_backend", "fp8_enable_fsdp_float8_all_gather", "run_name", "fsdp",
      "fsdp_transformer_layer_cls_to_wrap", "use_galore", "galore_layerwise", "galore_target",
      "galore_rank", "galore_scale", "freeze_trainable_layers", "freeze_trainable_modules",
      "use_llama_pro", "loraplus_lr_ratio", "mixture_of_depths", "optim", "use_muon", "do_predict",
      "predict_with_generate", "oft_block_size", "oft_target", "pissa_init", "pissa_iter",
      "pissa_convert", "lora_alpha", "use_kt", "disable_shuffling", "warmup_steps", "adam_beta1",
      "adam_beta2", "weight_decay", "max_grad_norm", "mixed_precision", "sequence_parallel",
      "recompute_granularity", "recompute_method", "recompute_num_layers",
      "use_distributed_optimizer", "overlap_param_gather", "overlap_grad_reduce",
      "bias_activation_fusion", "apply_rope_fusion", "masked_softmax_fusion",
      "cross_entropy_loss_fusion", "use_packed_sequences", "export_hf_on_finish", "extra_config",
      "megatron_pretrained_checkpoint", "tensor_model_parallel_size",
      "pipeline_model_parallel_size", "expert_model_parallel_size", "context_parallel_size",
      "virtual_pipeline_model_parallel_size",
      // beyond the examples
      "cache_dir", "model_revision", "use_fast_tokenizer", "resize_vocab", "split_special_tokens",
      "add_tokens", "add_special_tokens", "new_special_tokens_config", "init_special_tokens",
      "low_cpu_mem_usage", "rope_scaling", "shift_attn", "use_unsloth", "use_unsloth_gc",
      "enable_liger_kernel", "moe_aux_loss_coef", "upcast_layernorm", "upcast_lmhead_output",
      "train_from_scratch", "use_kv_cache", "print_param_status", "quantization_type",
      "quantization_device_map", "media_dir", "train_on_prompt", "mask_history", "streaming",
      "buffer_size", "mix_strategy", "interleave_probs", "preprocessing_batch_size",
      "eval_num_beams", "ignore_pad_token_for_loss", "eval_on_each_dataset", "neat_packing",
      "tool_format", "default_system", "enable_thinking", "preserve_thinking",
      "data_shared_file_system", "additional_target", "lora_dropout", "loraplus_lr_embedding",
      "use_rslora", "use_dora", "create_new_adapter", "freeze_extra_modules", "compute_accuracy",
      "early_stopping_steps", "include_effective_tokens_per_second", "adam_epsilon", "data_seed",
      "save_total_limit", "save_strategy", "logging_first_step", "group_by_length",
      "dataloader_drop_last", "label_smoothing_factor", "neftune_noise_alpha", "fp16", "tf32"};
  for (const char* key : keys) EXPECT_NE(find_recipe_key(key), nullptr) << key;
  for (const RecipeKey& key : recipe_keys()) {
    EXPECT_FALSE(key.subject.empty()) << key.name;
    EXPECT_TRUE(key.standing == Standing::honoured || !key.why.empty()) << key.name;
  }
}

}  // namespace
}  // namespace cairn
