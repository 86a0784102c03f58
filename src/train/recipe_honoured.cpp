// The keys that this version honours, by subject. Ranges are those of the arithmetic they feed;
// rules that concern two keys at once are in recipe_rules.cpp.
#include "data/sampler.h"
#include "model/model.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

// Samples in a batch, batches in a step: more than any run, and no sum of them overflows.
constexpr int64_t kMostBatches = 1000000;

RecipeKey without_printing(RecipeKey key) {
  key.write = nullptr;
  return key;
}

// More than any count, and an integer holds it.
constexpr double kMostCount = 1e15;

Range<double> val_size_range() {
  return {" of at least 0: below 1 a share, else a whole count", [](const double& size) {
            if (size < 0 || size > kMostCount) return false;
            return size < 1 || size == static_cast<double>(static_cast<int64_t>(size));
          }};
}

// A count of steps, or a share of all steps.
Range<double> steps_range(bool zero) {
  return {zero ? " of at least 0: below 1 a share of all steps, else a whole count"
               : " above 0: below 1 a share of all steps, else a whole count",
          [=](const double& steps) {
            if (steps < 0 || steps > kMostCount || (steps == 0 && !zero)) return false;
            return steps < 1 || steps == static_cast<double>(static_cast<int64_t>(steps));
          }};
}

// 0 leaves gradients as they are; what 32 bits take for 0 would erase them.
Range<double> max_grad_norm_range() {
  return {fmt::format(": 0, or at least {}", kLeastFloat),
          [](const double& norm) { return norm == 0 || norm >= kLeastFloat; }};
}

Range<std::string> not_empty() {
  return {" that is not empty", [](const std::string& text) { return !text.empty(); }};
}

std::vector<RecipeKey> model_keys() {
  const auto model = &Recipe::model;
  return {honoured("model_name_or_path", model, &ModelRecipe::model_name_or_path, not_empty()),
          honoured("adapter_name_or_path", model, &ModelRecipe::adapter_name_or_path, not_empty()),
          honoured("flash_attn", model, &ModelRecipe::flash_attn),
          attn_implementation_key(),
          honoured("upcast_layernorm", model, &ModelRecipe::upcast_layernorm),
          honoured("rope_scaling", model, &ModelRecipe::rope_scaling)};
}

std::vector<RecipeKey> method_keys() {
  const auto method = &Recipe::method;
  return {honoured("stage", method, &MethodRecipe::stage),
          honoured("do_train", method, &MethodRecipe::do_train),
          honoured("finetuning_type", method, &MethodRecipe::finetuning_type),
          honoured("lora_rank", method, &MethodRecipe::lora_rank, between_counts(1, kMostLoraRank)),
          honoured("lora_alpha", method, &MethodRecipe::lora_alpha, at_least<int64_t>(0)),
          honoured("lora_target", method, &MethodRecipe::lora_target),
          honoured("lora_dropout", method, &MethodRecipe::lora_dropout,
                   between(0, kMostLoraDropout, true)),
          honoured("use_rslora", method, &MethodRecipe::use_rslora),
          honoured("loraplus_lr_ratio", method, &MethodRecipe::loraplus_lr_ratio,
                   float_at_least(kLeastFloat)),
          honoured("additional_target", method, &MethodRecipe::additional_target)};
}

std::vector<RecipeKey> data_keys() {
  const auto data = &Recipe::data;
  return {
      honoured("dataset", data, &DataRecipe::dataset),
      honoured("eval_dataset", data, &DataRecipe::eval_dataset),
      honoured("dataset_dir", data, &DataRecipe::dataset_dir, not_empty()),
      honoured("template", data, &DataRecipe::template_name, not_empty()),
      honoured("cutoff_len", data, &DataRecipe::cutoff_len, between_counts(2, kMostBatchTokens)),
      honoured("max_samples", data, &DataRecipe::max_samples, at_least<int64_t>(1)),
      honoured("val_size", data, &DataRecipe::val_size, val_size_range()),
      honoured("train_on_prompt", data, &DataRecipe::train_on_prompt),
      honoured("mask_history", data, &DataRecipe::mask_history),
      honoured("default_system", data, &DataRecipe::default_system),
      honoured("disable_shuffling", data, &DataRecipe::disable_shuffling),
      honoured("packing", data, &DataRecipe::packing),
      honoured("neat_packing", data, &DataRecipe::neat_packing),
      honoured("group_by_length", data, &DataRecipe::group_by_length)};
}

std::vector<RecipeKey> train_keys() {
  const auto train = &Recipe::train;
  return {honoured("per_device_train_batch_size", train, &TrainRecipe::per_device_train_batch_size,
                   between_counts(1, kMostBatches)),
          honoured("per_device_eval_batch_size", train, &TrainRecipe::per_device_eval_batch_size,
                   between_counts(1, kMostBatches)),
          honoured("gradient_accumulation_steps", train, &TrainRecipe::gradient_accumulation_steps,
                   between_counts(1, kMostBatches)),
          honoured("optim", train, &TrainRecipe::optim),
          honoured("learning_rate", train, &TrainRecipe::learning_rate, float_at_least(0)),
          honoured("num_train_epochs", train, &TrainRecipe::num_train_epochs, above(0)),
          // -1 is how LLaMA-Factory writes "none"; the rules turn what is not above 0 into that.
          honoured("max_steps", train, &TrainRecipe::max_steps, between_counts(-1, kMostSteps)),
          honoured("lr_scheduler_type", train, &TrainRecipe::lr_scheduler_type),
          honoured("warmup_ratio", train, &TrainRecipe::warmup_ratio, between(0, 1, true)),
          honoured("warmup_steps", train, &TrainRecipe::warmup_steps, steps_range(true)),
          honoured("weight_decay", train, &TrainRecipe::weight_decay, float_at_least(0)),
          honoured("adam_beta1", train, &TrainRecipe::adam_beta1, between(0, kMostBelowOne, true)),
          honoured("adam_beta2", train, &TrainRecipe::adam_beta2, between(0, kMostBelowOne, true)),
          honoured("adam_epsilon", train, &TrainRecipe::adam_epsilon, float_at_least(kLeastFloat)),
          honoured("max_grad_norm", train, &TrainRecipe::max_grad_norm, max_grad_norm_range()),
          honoured("seed", train, &TrainRecipe::seed, at_least<int64_t>(0)),
          honoured("data_seed", train, &TrainRecipe::data_seed, at_least<int64_t>(0)),
          honoured("bf16", train, &TrainRecipe::bf16),
          honoured("trained_precision", train, &TrainRecipe::trained_precision),
          switch_key("pure_bf16"), honoured("eval_strategy", train, &TrainRecipe::eval_strategy),
          without_printing(honoured("evaluation_strategy", train, &TrainRecipe::eval_strategy)),
          honoured("eval_steps", train, &TrainRecipe::eval_steps, steps_range(false))};
}

std::vector<RecipeKey> output_keys() {
  const auto output = &Recipe::output;
  return {honoured("output_dir", output, &OutputRecipe::output_dir, not_empty()),
          honoured("overwrite_output_dir", output, &OutputRecipe::overwrite_output_dir),
          honoured("logging_steps", output, &OutputRecipe::logging_steps, steps_range(false)),
          honoured("logging_first_step", output, &OutputRecipe::logging_first_step),
          honoured("save_strategy", output, &OutputRecipe::save_strategy),
          honoured("save_steps", output, &OutputRecipe::save_steps, steps_range(false)),
          honoured("save_only_model", output, &OutputRecipe::save_only_model),
          // Hugging Face reads what is not above 0 as "none"; the rules do so too.
          honoured("save_total_limit", output, &OutputRecipe::save_total_limit,
                   between_counts(-1, kMostSteps)),
          resume_key(), honoured("plot_loss", output, &OutputRecipe::plot_loss)};
}

}  // namespace

RecipeKey switch_key(const std::string& name) {
  RecipeKey key;
  key.name = name;
  key.expected = expected_words<bool>();
  key.read = [=, expected = key.expected](Recipe&, const Given& given) {
    bool on = false;
    if (!read_value(given, on)) throw_wrong_value(name, expected, given);
  };
  return key;
}

std::vector<RecipeKey> honoured_keys() {
  std::vector<RecipeKey> keys;
  const auto add = [&](std::string_view subject, std::vector<RecipeKey> table) {
    for (RecipeKey& key : table) {
      key.subject = subject;
      keys.push_back(std::move(key));
    }
  };
  add("model", model_keys());
  add("model", quantisation_keys());
  add("method", method_keys());
  add("data", data_keys());
  add("data", template_and_mixing_keys());
  add("train", train_keys());
  add("output", output_keys());
  add("memory", memory_keys());
  add("sharding", sharding_keys());
  return keys;
}

}  // namespace cairn
