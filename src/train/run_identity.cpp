#include "train/run_identity.h"

#include <algorithm>

#include "files/checksum.h"
#include "train/prepare.h"
#include "train/recipe_key.h"

namespace cairn {
namespace {

// Keys of the recipe whose value decides which rows a step sees, and what a state means.
constexpr const char* kFixedKeys[] = {"finetuning_type",
                                      "trained_precision",
                                      "packing",
                                      "seed",
                                      "gradient_accumulation_steps",
                                      "data_seed",
                                      "disable_shuffling",
                                      "group_by_length",
                                      "quantization_bit",
                                      "llm_int8_skip_modules",
                                      "cutoff_len"};
// Keys that say how the next steps are made, and nothing of what was made before.
constexpr const char* kChangeableKeys[] = {
    "learning_rate", "lr_scheduler_type", "weight_decay",           "adam_beta1",
    "adam_beta2",    "adam_epsilon",      "max_grad_norm",          "bf16",
    "flash_attn",    "upcast_layernorm",  "max_grad_norm_per_unit", "optimizer_in_backward"};
// Keys that the plan may choose, and that order sums.
constexpr const char* kPlannedKeys[] = {"loss_chunk", "mlp_tile"};

std::string value_of(const Recipe& recipe, const char* name) {
  const RecipeKey* key = find_recipe_key(name);
  CAIRN_CHECK(key && key->write, "[run identity] wanted a key of the recipe, got '{}'", name);
  const RecipeJson value = key->write(recipe);
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string joined(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ","));
}

void add_lora(const LoraSpec& lora, RunIdentity& identity) {
  identity.fixed["lora_rank"] = std::to_string(lora.rank);
  identity.fixed["lora_alpha"] = fmt::format("{}", lora.alpha);
  identity.fixed["lora_target"] = joined(lora.targets);
  identity.fixed["additional_target"] = joined(lora.modules_to_save);
  identity.fixed["use_rslora"] = lora.rank_stabilized ? "true" : "false";
  identity.changeable["lora_dropout"] = fmt::format("{}", lora.dropout);
  identity.changeable["loraplus_lr_ratio"] = fmt::format("{}", lora.learning_rate_ratio);
}

std::string shape_words(const ModelConfig& config) {
  return fmt::format(
      "{} layers, hidden {}, intermediate {}, {} and {} heads of {}, {} tokens, epsilon {}",
      config.num_layers, config.hidden, config.intermediate, config.num_heads, config.num_kv_heads,
      config.head_dim, config.vocab, config.rms_epsilon);
}

std::string rotary_words(const ModelConfig& config) {
  const std::optional<RopeScaling>& scaling = config.rope_scaling;
  if (!scaling) return fmt::format("base {}", config.rope_theta);
  return fmt::format("base {}, {} by {} from {}", config.rope_theta, name_of(scaling->kind),
                     scaling->factor, scaling->original_max_position);
}

// Names, types and shapes: not the bytes, which would have to be read for it.
std::string checksum_of_tensors(const TensorSource& source) {
  Checksum checksum;
  for (const TensorInfo& info : source.tensors())
    checksum.add(fmt::format("{} {} {}\n", info.name, name_of(info.type), info.shape.to_string()));
  return checksum.text();
}

std::string examples_words(const ExampleSet& examples) {
  Checksum checksum;
  const auto add = [&](const std::vector<int32_t>& values) {
    checksum.add(std::as_bytes(std::span(values)));
  };
  for (int64_t i = 0; i < examples.size(); ++i) {
    const Example example = examples.read(i);
    checksum.add(fmt::format("{}\n", example.tokens()));
    add(example.ids);
    add(example.labels);
  }
  return fmt::format("{} samples, checksum {}", examples.size(), checksum.text());
}

}  // namespace

std::string sample_of_weights(const PreparedRun& run) {
  const TensorSource& source = *run.files.weights;
  Checksum checksum;
  std::vector<std::byte> scratch(kLeastReadScratchBytes), raw(64);
  for (const TensorInfo& info : source.tensors()) {
    if (info.shape.elements() == 0) continue;
    if (!is_readable(info.type)) {
      raw.resize(static_cast<size_t>(std::min<int64_t>(info.bytes, 64)));
      source.read_bytes(info, 0, raw);
      checksum.add(raw);
      continue;
    }
    std::vector<float> row(static_cast<size_t>(info.shape.elements() / info.rows()));
    const auto elements = static_cast<int64_t>(row.size());
    source.read_rows(info, info.rows() / 2, 1,
                     View(reinterpret_cast<std::byte*>(row.data()), DType::f32, {elements}),
                     scratch);
    checksum.add(std::as_bytes(std::span(row)));
  }
  return checksum.text();
}

RunIdentity identify(const PreparedRun& run) {
  RunIdentity identity;
  for (const char* key : kFixedKeys) identity.fixed[key] = value_of(run.recipe, key);
  // Of all ranks together: as many rows on another number of them are the same batches.
  identity.fixed["per_device_train_batch_size times ranks"] =
      std::to_string(run.recipe.train.per_device_train_batch_size * run.spec.world.size);
  for (const char* key : kChangeableKeys) identity.changeable[key] = value_of(run.recipe, key);
  for (const char* key : kPlannedKeys) identity.planned[key] = value_of(run.recipe, key);
  if (run.spec.model.lora) {
    add_lora(*run.spec.model.lora, identity);
    // A full fine-tune has its own in the checkpoint.
    identity.fixed["a sample of the model's weights"] = sample_of_weights(run);
  }
  identity.fixed["optim"] = run.spec.optimizer.rule == OptimizerRule::sgd ? "sgd" : "adamw";
  identity.fixed["the model"] = shape_words(run.spec.model.config);
  identity.fixed["the model's rotary positions"] = rotary_words(run.spec.model.config);
  if (run.spec.model.quantisation)
    identity.fixed["double_quantization"] = run.spec.model.quantisation->nested ? "true" : "false";
  identity.fixed["the list of the model's tensors"] = checksum_of_tensors(*run.files.weights);
  identity.fixed["the training data"] = examples_words(run.data.train);
  identity.changeable["the validation data"] = examples_words(run.data.validation);
  identity.changeable["the number of steps"] = std::to_string(run.schedule.total_steps);
  identity.changeable["the steps of warm-up"] = std::to_string(run.schedule.warmup_steps);
  return identity;
}

std::vector<std::string> list_differences(const RunIdentity::Values& there,
                                          const RunIdentity::Values& here) {
  std::vector<std::string> differences;
  const auto shown = [](const RunIdentity::Values& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() || found->second.empty() ? "not set" : found->second;
  };
  RunIdentity::Values all = there;
  all.insert(here.begin(), here.end());
  for (const auto& [name, value] : all) {
    const std::string before = shown(there, name), now = shown(here, name);
    if (before != now)
      differences.push_back(fmt::format("{} is {} there and {} here", name, before, now));
  }
  return differences;
}

}  // namespace cairn
