// The rules between keys, LLaMA-Factory's where it has one (specified in its get_train_args and the
// arguments' own checks), for the keys that Cairn honours.
#include "train/recipe_rules.h"

#include <algorithm>

#include "base/error.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

void refuse_if(bool wrong, const char* sentence) {
  if (wrong) throw UserError(sentence);
}

bool is_paged(OptimizerType optim) {
  return optim == OptimizerType::paged_adamw_8bit || optim == OptimizerType::paged_adamw_32bit;
}

void check_memory(const Recipe& recipe, const GivenKeys& keys) {
  const TrainRecipe& train = recipe.train;
  refuse_if(
      recipe.memory.weights_place == StatePlace::paged &&
          recipe.method.finetuning_type != FinetuningType::lora,
      "weights_place: paged streams frozen weights, so it needs finetuning_type: lora; leave it "
      "out to train all weights, with optimizer_place: paged for their states");
  refuse_if(recipe.memory.optimizer_in_backward && train.gradient_accumulation_steps > 1,
            "optimizer_in_backward applies gradients as soon as they are complete, so none can be "
            "summed over micro-batches; use gradient_accumulation_steps: 1, with a larger "
            "per_device_train_batch_size if memory allows");
  refuse_if(is_paged(train.optim) && recipe.memory.optimizer_place == StatePlace::resident,
            "optim asks for paged states and optimizer_place for resident ones; keep one: "
            "adamw_8bit and adamw_torch are the same optimizers with states in memory");
  const Given* precision = find_given(keys, "trained_precision");
  refuse_if(precision && precision->text != "pure_bf16" && is_on(keys, "pure_bf16"),
            "pure_bf16 and trained_precision contradict each other; keep one: trained_precision: "
            "f32, mixed or pure_bf16");
  refuse_if(train.trained_precision == TrainedPrecision::mixed && !train.bf16,
            "trained_precision: mixed keeps trained weights in bf16 with an f32 master; add bf16: "
            "true, or use trained_precision: f32");
}

void check_method(const Recipe& recipe) {
  const MethodRecipe& method = recipe.method;
  const std::string& adapter = recipe.model.adapter_name_or_path;
  refuse_if(!adapter.empty() && method.finetuning_type != FinetuningType::lora,
            "adapter_name_or_path needs finetuning_type: lora; merge the adapter into the model to "
            "train all of its weights");
  refuse_if(
      recipe.model.quantization_bit && method.finetuning_type != FinetuningType::lora,
      "quantization_bit keeps the weights frozen, so it needs finetuning_type: lora; leave it "
      "out to train all weights");
  refuse_if(adapter.find(',') != std::string::npos,
            "adapter_name_or_path names several adapters; give one, and merge the others into the "
            "model first");
  const bool lora = method.finetuning_type == FinetuningType::lora;
  refuse_if(!lora && method.use_rslora,
            "use_rslora scales a low-rank adapter; add finetuning_type: lora, or leave it out");
  refuse_if(
      !lora && method.loraplus_lr_ratio,
      "loraplus_lr_ratio sets the learning rate of an adapter's B; add finetuning_type: lora, "
      "or leave it out");
  refuse_if(recipe.train.learning_rate * method.loraplus_lr_ratio.value_or(1) > kMostFloat,
            "learning_rate times loraplus_lr_ratio is the learning rate of an adapter's B, and "
            "wanted at most 3.4e+38; lower one of them");
  refuse_if(method.lora_target.size() > 1 &&
                std::find(method.lora_target.begin(), method.lora_target.end(), "all") !=
                    method.lora_target.end(),
            "lora_target names all beside other modules; write all alone, or only the modules");
}

void check_stage(const Recipe& recipe, const GivenKeys& keys) {
  const DataRecipe& data = recipe.data;
  const bool pt = recipe.method.stage == Stage::pt;
  refuse_if(pt && data.neat_packing,
            "neat_packing keeps packed answers apart, which stage: pt has none of; use packing: "
            "true to join texts, or packing: false for each by itself");
  refuse_if(pt && data.train_on_prompt,
            "train_on_prompt belongs to stage: sft; stage: pt trains on all of a text");
  refuse_if(pt && data.mask_history,
            "mask_history belongs to stage: sft; stage: pt trains on all of a text");
  refuse_if(!data.interleave_probs.empty() && data.mix_strategy == MixStrategy::concat,
            "interleave_probs are shares of interleaved data sets; add mix_strategy: "
            "interleave_under or interleave_over, or leave them out");
  refuse_if(!data.interleave_probs.empty() && data.interleave_probs.size() != data.dataset.size(),
            "interleave_probs and dataset name different counts; give one share for each data set");
  if (!is_on(keys, "streaming")) return;
  refuse_if(data.val_size > 0 && data.val_size < 1,
            "streaming wants val_size as a count of rows; give a whole number, or leave streaming "
            "out, which has no effect here");
  refuse_if(data.max_samples.has_value(),
            "streaming and max_samples contradict each other; leave streaming out, which has no "
            "effect here");
  refuse_if(!recipe.train.max_steps,
            "streaming wants max_steps; give one, or leave streaming out, which has no effect "
            "here");
}

void check_data(const Recipe& recipe) {
  const DataRecipe& data = recipe.data;
  refuse_if(recipe.method.do_train && data.dataset.empty(),
            "do_train needs a data set; give dataset: NAME as in dataset_info.json");
  refuse_if(data.train_on_prompt && data.mask_history,
            "train_on_prompt and mask_history contradict each other; keep one");
  refuse_if(data.val_size > 0 && data.dataset.empty(),
            "val_size splits from dataset, which is missing; give dataset: NAME");
  refuse_if(data.val_size > 0 && !data.eval_dataset.empty(),
            "val_size and eval_dataset both say what to evaluate on; keep one");
  refuse_if(recipe.train.eval_strategy != IntervalStrategy::no && data.val_size == 0 &&
                data.eval_dataset.empty(),
            "eval_strategy needs something to evaluate on; give val_size: 0.1 or eval_dataset: "
            "NAME, or eval_strategy: no");
}

void check_sharding(const Recipe& recipe, const GivenKeys& keys) {
  refuse_if(recipe.sharding.shares_weights() && is_on(keys, "use_unsloth"),
            "use_unsloth does not go with ZeRO-3 in LLaMA-Factory; leave it out: Cairn's own "
            "kernels are used, under every stage");
}

}  // namespace

const Given* find_given(const GivenKeys& keys, std::string_view name) {
  for (const auto& [key, given] : keys)
    if (key == name && !given.is_null()) return &given;
  return nullptr;
}

bool is_given(const GivenKeys& keys, std::string_view name) { return find_given(keys, name); }

bool is_on(const GivenKeys& keys, std::string_view name) {
  const Given* given = find_given(keys, name);
  bool on = false;
  return given && read_value(*given, on) && on;
}

void resolve_recipe(Recipe& recipe, const GivenKeys& keys) {
  MethodRecipe& method = recipe.method;
  TrainRecipe& train = recipe.train;
  if (!is_given(keys, "lora_alpha") || method.lora_alpha == 0)
    method.lora_alpha = 2 * method.lora_rank;
  if (!is_given(keys, "data_seed")) train.data_seed = train.seed;
  if (!is_given(keys, "eval_steps")) train.eval_steps = recipe.output.logging_steps;
  if (train.max_steps && *train.max_steps <= 0) train.max_steps.reset();
  std::optional<int64_t>& limit = recipe.output.save_total_limit;
  if (limit && *limit <= 0) limit.reset();
  resolve_checkpointing(recipe, keys);
  if (is_paged(train.optim) && !is_given(keys, "optimizer_place"))
    recipe.memory.optimizer_place = StatePlace::paged;
  if (recipe.data.neat_packing) recipe.data.packing = true;
  if (method.stage == Stage::pt && !is_given(keys, "packing")) recipe.data.packing = true;
  // The name of LLaMA-Factory wins over those that other trainers have for it.
  if (const Given* cutoff = find_given(keys, "cutoff_len"))
    find_recipe_key("cutoff_len")->read(recipe, *cutoff);
  if (is_on(keys, "pure_bf16")) train.trained_precision = TrainedPrecision::pure_bf16;
  // Weights trained in bf16 make no sense of activations in f32.
  if (train.trained_precision == TrainedPrecision::pure_bf16) train.bf16 = true;
}

void check_recipe(const Recipe& recipe, const GivenKeys& keys) {
  refuse_if(recipe.model.model_name_or_path.empty(),
            "model_name_or_path is missing; give the folder of a model");
  refuse_if(is_given(keys, "eval_strategy") && is_given(keys, "evaluation_strategy"),
            "eval_strategy and its older name evaluation_strategy are both given; keep "
            "eval_strategy");
  refuse_if(is_given(keys, "max_length") && is_given(keys, "max_seq_length"),
            "max_length and its older name max_seq_length are both given; keep one, or write "
            "cutoff_len");
  refuse_if(is_given(keys, "flash_attn") && is_given(keys, "attn_implementation"),
            "flash_attn and Hugging Face's name for it, attn_implementation, are both given; keep "
            "flash_attn");
  check_method(recipe);
  check_data(recipe);
  check_stage(recipe, keys);
  check_checkpointing(keys);
  check_memory(recipe, keys);
  check_sharding(recipe, keys);
}

void note_overridden_keys(Recipe& recipe, const GivenKeys& keys) {
  const auto note_if = [&](bool overridden, const char* key, const char* why) {
    if (overridden && is_given(keys, key)) recipe.notes.push_back({key, why});
  };
  const Recipe defaults;
  const TrainRecipe& train = recipe.train;
  const MethodRecipe& method = recipe.method;
  // Only values that differ from the default: a printed recipe read back stays free of notes.
  note_if(train.max_steps && train.num_train_epochs != defaults.train.num_train_epochs,
          "num_train_epochs", "max_steps overrides it");
  note_if(train.warmup_steps > 0 && train.warmup_ratio > 0, "warmup_ratio",
          "warmup_steps overrides it");
  note_if(recipe.memory.optimizer_place != StatePlace::paged &&
              recipe.memory.page_resident != defaults.memory.page_resident,
          "page_resident", "it belongs to paged states, and optimizer_place is resident");
  const bool sgd = train.optim == OptimizerType::sgd;
  const char* momentless = "optim: sgd has no moments";
  note_if(sgd && train.adam_beta1 != defaults.train.adam_beta1, "adam_beta1", momentless);
  note_if(sgd && train.adam_beta2 != defaults.train.adam_beta2, "adam_beta2", momentless);
  note_if(sgd && train.adam_epsilon != defaults.train.adam_epsilon, "adam_epsilon", momentless);
  const bool warms_up = train.warmup_steps > 0 || train.warmup_ratio > 0;
  const bool constant = train.lr_scheduler_type == SchedulerType::constant;
  note_if(warms_up && constant, train.warmup_steps > 0 ? "warmup_steps" : "warmup_ratio",
          "lr_scheduler_type: constant does not warm up; constant_with_warmup does");
  note_if(train.eval_strategy != IntervalStrategy::steps &&
              train.eval_steps != recipe.output.logging_steps,
          "eval_steps", "eval_strategy is not steps");
  note_if(recipe.output.save_strategy != IntervalStrategy::steps &&
              recipe.output.save_steps != defaults.output.save_steps,
          "save_steps", "save_strategy is not steps");
  note_if(recipe.output.save_strategy == IntervalStrategy::no && recipe.output.save_total_limit,
          "save_total_limit", "save_strategy is no");
  note_if(recipe.data.neat_packing && !is_on(keys, "packing"), "packing",
          "neat_packing packs whatever it says");
  const Given* policy = find_given(keys, "gradient_checkpointing");
  const Given* newer = find_given(keys, "activation_checkpointing");
  note_if(policy && newer && policy->text != newer->text, "activation_checkpointing",
          "gradient_checkpointing says what is kept");
  for (const char* alias : {"max_length", "max_seq_length"})
    note_if(is_given(keys, "cutoff_len"), alias, "cutoff_len says how long a sample may be");
  note_if(recipe.method.stage == Stage::pt && !recipe.data.template_name.empty() &&
              !recipe.data.default_system.empty(),
          "default_system", "stage: pt has plain texts");
  note_if(recipe.data.group_by_length && recipe.data.disable_shuffling, "group_by_length",
          "disable_shuffling keeps the order of the data");
  note_if(recipe.memory.max_grad_norm_per_unit && !recipe.memory.optimizer_in_backward,
          "max_grad_norm_per_unit", "it belongs to optimizer_in_backward");
  note_if(!recipe.model.quantization_bit && !recipe.model.double_quantization,
          "double_quantization", "it belongs to quantization_bit");
  note_if(!recipe.model.quantization_bit && !recipe.model.plain_modules.empty(),
          "llm_int8_skip_modules", "it belongs to quantization_bit");
  // A continued adapter keeps its own shape, even where the recipe names the default.
  for (const char* key : {"lora_rank", "lora_alpha", "lora_target", "lora_dropout", "use_rslora",
                          "additional_target"})
    note_if(!recipe.model.adapter_name_or_path.empty(), key,
            "the adapter of adapter_name_or_path brings its own");
  if (method.finetuning_type != FinetuningType::full) return;
  const char* full = "finetuning_type: full trains every weight and has no adapter";
  note_if(method.lora_rank != defaults.method.lora_rank, "lora_rank", full);
  note_if(method.lora_alpha != 2 * method.lora_rank, "lora_alpha", full);
  note_if(method.lora_target != defaults.method.lora_target, "lora_target", full);
  note_if(method.lora_dropout > 0, "lora_dropout", full);
  note_if(!method.additional_target.empty(), "additional_target", full);
  note_if(recipe.model.upcast_layernorm, "upcast_layernorm",
          "finetuning_type: full trains the norms, and trained_precision says how they are held");
}

}  // namespace cairn
