// The arguments of Hugging Face's trainer, of this version and of older ones, that LLaMA-Factory's
// recipes seldom have, so that a dump of TrainingArguments may be given as it is.
#include "train/recipe_key.h"

namespace cairn {
namespace {

using enum ValueKind;

// The order of the data in one word.
RecipeKey sampling_key() {
  constexpr std::string_view name = "train_sampling_strategy";
  RecipeKey key;
  key.name = name;
  key.expected = "one of random, sequential, group_by_length";
  key.read = [name, expected = key.expected](Recipe& recipe, const Given& given) {
    const std::string word = given.is_scalar() ? given.text : "";
    if (word == "batch_rebalance")
      throw_not_taken(name, given, "random, sequential, group_by_length",
                      "use group_by_length; batches here have no padding to balance");
    if (word == "sequential")
      recipe.data.disable_shuffling = true;
    else if (word == "group_by_length")
      recipe.data.group_by_length = true;
    else if (word != "random")
      throw_wrong_value(name, expected, given);
  };
  return key;
}

void add(std::vector<RecipeKey>& keys, const std::vector<std::string>& names, ValueKind kind,
         const std::string& why, const std::vector<std::string>& quiet = {}) {
  for (const std::string& name : names) keys.push_back(no_effect(name, kind, why, quiet));
}

void add_evaluation(std::vector<RecipeKey>& keys) {
  keys.push_back(refused_unless("eval_on_start", false,
                                "the loss of the first step is from before any update; use "
                                "logging_first_step: true to have it in the log"));
  const std::string loss = "evaluation measures the loss alone";
  add(keys, {"eval_do_concat_batches"}, boolean, loss, {"true"});
  add(keys,
      {"eval_use_gather_object", "batch_eval_metrics", "include_inputs_for_metrics",
       "use_legacy_prediction_loop"},
      boolean, loss, {"false"});
  add(keys, {"include_for_metrics"}, anything, loss);
  const std::string predicting = "it belongs to predict_with_generate";
  add(keys, {"generation_max_length", "generation_num_beams"}, integer, predicting);
  add(keys, {"generation_config"}, anything, predicting);
}

void add_machines(std::vector<RecipeKey>& keys) {
  add(keys, {"no_cuda", "use_mps_device"}, boolean, "device says where to run", {"false"});
  add(keys, {"use_ipex", "jit_mode_eval"}, boolean, "Cairn's own kernels are used", {"false"});
  add(keys, {"fp16_backend"}, text, "bf16 and trained_precision say what is stored", {"auto"});
  add(keys, {"torchdynamo"}, text, "there is nothing to compile");
  add(keys, {"xpu_backend"}, text, "mpirun starts the ranks, and Cairn exchanges tensors itself");
  add(keys, {"tpu_num_cores"}, integer, "Cairn does not train on a TPU");
  add(keys, {"tpu_metrics_debug"}, boolean, "Cairn does not train on a TPU", {"false"});
  add(keys, {"mp_parameters"}, text, "it belongs to SageMaker's launcher");
  add(keys, {"ray_scope"}, text, "it belongs to a search of hyperparameters", {"last"});
  add(keys, {"debug"}, anything, "a loss or gradient that is not finite always ends a run");
  add(keys, {"use_cache"}, boolean, "generation always keeps a cache, training never", {"false"});
  add(keys, {"log_on_each_node"}, boolean, "the first rank alone tells of progress", {"false"});
  add(keys, {"enable_jit_checkpoint"}, boolean,
      "a run that is asked to stop always saves a checkpoint", {"true"});
  add(keys, {"project"}, text, "Cairn reports to trainer_log.jsonl in output_dir and to no service",
      {"huggingface"});
  add(keys, {"trackio_space_id", "trackio_bucket_id", "trackio_static_space_id"}, text,
      "Cairn reports to trainer_log.jsonl in output_dir and to no service", {"trackio", "false"});
}

void add_sharding(std::vector<RecipeKey>& keys) {
  const std::string zero = "use deepspeed or zero_stage";
  keys.push_back(refused("parallelism_config", zero));
  keys.push_back(refused("sharded_ddp", zero, {"false"}));
}

void add_data(std::vector<RecipeKey>& keys) {
  keys.push_back(sampling_key());
  add(keys, {"length_column_name"}, text, "group_by_length counts the tokens itself", {"length"});
  add(keys, {"dispatch_batches"}, boolean, "every rank reads its own rows", {"false"});
  keys.push_back(refused_unless("split_batches", false,
                                "per_device_train_batch_size is of each rank; divide it by their "
                                "count"));
  keys.push_back(refused_unless("sortish_sampler", false, "use group_by_length: true"));
  keys.push_back(refused_unless("past_index", int64_t{-1},
                                "no model here hands a state from batch to batch; leave it out"));
}

void add_older_names(std::vector<RecipeKey>& keys) {
  keys.push_back(refused("per_gpu_train_batch_size", "use per_device_train_batch_size"));
  keys.push_back(refused("per_gpu_eval_batch_size", "use per_device_eval_batch_size"));
  keys.push_back(
      refused_unless("adafactor", false, "the nearest that saves memory is optim: adamw_8bit"));
}

}  // namespace

std::vector<RecipeKey> trainer_keys() {
  std::vector<RecipeKey> keys;
  auto subject = [&, begin = size_t{0}](const char* name) mutable {
    for (; begin < keys.size(); ++begin) keys[begin].subject = name;
  };
  add_data(keys);
  subject("data");
  add_evaluation(keys);
  add_machines(keys);
  add_sharding(keys);
  add_older_names(keys);
  subject("train");
  keys.push_back(activation_checkpointing_key());
  keys.push_back(no_effect("activation_checkpointing_kwargs", anything,
                           "gradient_checkpointing says what is kept: block, every:K, offload"));
  subject("memory");
  return keys;
}

}  // namespace cairn
