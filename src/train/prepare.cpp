#include "train/prepare.h"

#include <algorithm>

#include "base/error.h"
#include "model/adapter.h"
#include "model/load_quantised.h"
#include "model/loading.h"
#include "train/attention_choice.h"
#include "train/chosen_template.h"
#include "train/deepspeed/deepspeed_recipe.h"
#include "train/run_remarks.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// Samples are cut at cutoff_len, so each fits into a packed row; the blocks of plain text are full.
std::vector<Row> make_rows(const Recipe& recipe, const std::vector<int64_t>& lengths) {
  return recipe.data.packing && recipe.method.stage == Stage::sft
             ? pack_rows(lengths, recipe.data.cutoff_len)
             : make_single_rows(lengths);
}

Sampler make_sampler(const Recipe& recipe, const ExampleSet& examples, int ranks) {
  SamplerOptions options;
  options.ranks = ranks;
  options.batch_size = recipe.train.per_device_train_batch_size;
  options.accumulation = recipe.train.gradient_accumulation_steps;
  options.epochs = recipe.train.num_train_epochs;
  options.max_steps = recipe.train.max_steps.value_or(-1);
  options.seed = static_cast<uint64_t>(recipe.train.data_seed);
  options.shuffle = !recipe.data.disable_shuffling;
  options.group_by_length = recipe.data.group_by_length;
  return Sampler(make_rows(recipe, examples.lengths()), options);
}

Capacity eval_capacity_of(const ExampleSet& examples, int64_t batch_size) {
  Capacity largest;
  for (int64_t begin = 0; begin < examples.size(); begin += batch_size) {
    Capacity capacity;
    for (int64_t i = begin; i < std::min(examples.size(), begin + batch_size); ++i) {
      const ExampleSize size = examples.size_of(i);
      capacity.tokens += size.tokens;
      capacity.longest_segment = std::max(capacity.longest_segment, size.tokens);
      capacity.labelled_rows += size.trained_labels;
      ++capacity.segments;
    }
    largest = elementwise_max(largest, capacity);
  }
  return largest;
}

void check_vocabulary(const Tokenizer& tokenizer, const ModelConfig& config) {
  if (tokenizer.vocab_size() > config.vocab)
    throw UserError(fmt::format(
        "the tokenizer has ids up to {}, but the model embeds {} tokens; use the tokenizer that "
        "belongs to the model",
        tokenizer.vocab_size() - 1, config.vocab));
}

void check_trainable(const ModelSpec& spec) {
  if (spec.quantisation && !spec.lora)
    throw UserError(
        "the model's weights are quantised, so they stay frozen: use finetuning_type: lora, or a "
        "checkpoint in bf16");
}

// Only whoever quantises chooses what stays as it was.
void check_left_plain(const std::vector<std::string>& modules, const QuantSpec& quantisation) {
  for (const std::string& name : modules)
    if (std::ranges::find(quantisation.plain_modules, name) == quantisation.plain_modules.end())
      throw UserError(fmt::format(
          "llm_int8_skip_modules: the checkpoint is quantised already, and its config.json does "
          "not list '{}' as left plain; take the key away, or give the model unquantised",
          name));
}

}  // namespace

std::string find_path(const std::string& path, const fs::path& recipe_folder) {
  // A name that no file system takes is nowhere.
  std::error_code ignored;
  if (path.empty() || fs::path(path).is_absolute() || fs::exists(path, ignored)) return path;
  fs::path folder = fs::absolute(recipe_folder, ignored);
  while (true) {
    if (fs::exists(folder / path, ignored)) return (folder / path).lexically_normal().string();
    if (folder == folder.parent_path()) return path;
    folder = folder.parent_path();
  }
}

Capacity make_full_capacity(int64_t batch_size, int64_t sequence) {
  if (sequence > kMostBatchTokens / batch_size)
    throw UserError(fmt::format(
        "a batch of {} samples of {} tokens is more than the {} tokens that a batch may "
        "hold; lower per_device_train_batch_size or cutoff_len",
        batch_size, sequence, kMostBatchTokens));
  Capacity capacity;
  capacity.tokens = batch_size * sequence;
  capacity.longest_segment = sequence;
  capacity.segments = batch_size;
  capacity.labelled_rows = batch_size * std::max<int64_t>(0, sequence - 1);
  return capacity;
}

namespace {

OptimizerSettings make_optimizer_settings(const Recipe& recipe) {
  OptimizerSettings settings;
  switch (recipe.train.optim) {
    case OptimizerType::adamw_torch:
    case OptimizerType::adamw_torch_fused:
      break;
    case OptimizerType::adamw_8bit:
    case OptimizerType::paged_adamw_8bit:
      settings.coding = StateCoding::blocks_8bit;
      break;
    case OptimizerType::paged_adamw_32bit:
      settings.coding = StateCoding::f32;
      break;
    case OptimizerType::sgd:
      settings.rule = OptimizerRule::sgd;
      break;
  }
  settings.place = recipe.memory.optimizer_place;
  settings.page_resident = recipe.memory.page_resident;
  settings.beta1 = recipe.train.adam_beta1;
  settings.beta2 = recipe.train.adam_beta2;
  settings.epsilon = recipe.train.adam_epsilon;
  settings.weight_decay = recipe.train.weight_decay;
  settings.seed = static_cast<uint64_t>(recipe.train.seed);
  return settings;
}

}  // namespace

TrainSpec make_train_spec(const Recipe& recipe, const ModelConfig& config) {
  TrainSpec spec;
  spec.model.config = config;
  if (recipe.model.rope_scaling)
    stretch_positions(*recipe.model.rope_scaling, recipe.data.cutoff_len, spec.model.config);
  if (recipe.method.finetuning_type == FinetuningType::lora) {
    LoraSpec lora;
    lora.rank = recipe.method.lora_rank;
    lora.alpha = static_cast<double>(recipe.method.lora_alpha);
    lora.dropout = recipe.method.lora_dropout;
    lora.modules_to_save = recipe.method.additional_target;
    lora.rank_stabilized = recipe.method.use_rslora;
    lora.learning_rate_ratio = recipe.method.loraplus_lr_ratio.value_or(1);
    lora.targets = recipe.method.lora_target;
    spec.model.lora = lora;
    if (!lora.modules_to_save.empty()) check_saved_beside(Model(spec.model));
  }
  spec.model.precision = recipe.train.trained_precision;
  spec.model.activation = recipe.train.bf16 ? DType::bf16 : DType::f32;
  spec.model.frozen_storage = spec.model.activation;
  spec.model.quantisation = config.quantisation;
  if (recipe.model.quantization_bit && !config.quantisation) {
    spec.model.quantisation.emplace();
    spec.model.quantisation->nested = recipe.model.double_quantization;
    spec.model.quantisation->plain_modules = recipe.model.plain_modules;
  }
  check_trainable(spec.model);
  if (config.quantisation)
    check_left_plain(recipe.model.plain_modules, *config.quantisation);
  else if (!recipe.model.plain_modules.empty())
    check_plain_modules(Model(spec.model), "llm_int8_skip_modules");
  spec.model.upcast_norms = recipe.model.upcast_layernorm;
  spec.model.attention = attention_kind(recipe.model.flash_attn);
  spec.model.loss_chunk = recipe.memory.loss_chunk;
  spec.model.mlp_tile = recipe.memory.mlp_tile;
  // The plan puts its own choice in the place of auto.
  spec.checkpointing = make_policy(
      recipe.memory.checkpointing.is_auto() ? PolicyChoice() : recipe.memory.checkpointing,
      config.num_layers);
  spec.optimizer = make_optimizer_settings(recipe);
  spec.max_grad_norm = recipe.train.max_grad_norm;
  spec.model.streams_weights = recipe.memory.weights_place == StatePlace::paged;
  spec.model.unit_gradients = recipe.memory.optimizer_in_backward;
  spec.clips_by_unit = spec.model.unit_gradients && recipe.memory.max_grad_norm_per_unit;
  spec.seed = static_cast<uint64_t>(recipe.train.seed);
  spec.sharding = resolved_for(recipe.sharding, config.hidden);
  spec.capacity =
      make_full_capacity(recipe.train.per_device_train_batch_size, recipe.data.cutoff_len);
  return spec;
}

PreparedRun prepare_run(const Recipe& recipe, World world) {
  PreparedRun run;
  run.recipe = recipe;
  run.files = open_model(find_path(recipe.model.model_name_or_path, recipe.folder));
  const ModelConfig config = parse_model_config(run.files.config);
  check_deepspeed_agrees(recipe, {world.size, {}, {}});
  run.spec = make_train_spec(recipe, config);
  run.spec.world = world;
  match_quantised_weights(*run.files.weights, run.spec.model);
  check_trainable(run.spec.model);
  if (!recipe.model.adapter_name_or_path.empty()) {
    const std::string folder = find_path(recipe.model.adapter_name_or_path, recipe.folder);
    LoraSpec lora = read_adapter_config(folder);
    lora.learning_rate_ratio = run.spec.model.lora->learning_rate_ratio;
    run.spec.model.lora = lora;
    run.adapter = open_adapter_weights(folder);
  }
  const Model model(run.spec.model);
  check_saved_beside(model);
  check_sources(model, *run.files.weights, run.adapter.get());
  if (run.files.tokenizer.is_null())
    throw UserError(
        fmt::format("{} has no tokenizer.json; training on text needs one", run.files.path));
  const TokenizerFiles tokenizer_files = {run.files.tokenizer, run.files.tokenizer_config};
  const Tokenizer tokenizer =
      Tokenizer::from_json(tokenizer_files.tokenizer, tokenizer_files.tokenizer_config);
  check_vocabulary(tokenizer, config);
  const ChatTemplate chat_template = template_of(recipe, tokenizer_files, run.remarks);

  run.data = prepare_data(recipe, chat_template, tokenizer, tokenizer_files);
  run.sampler = make_sampler(recipe, run.data.train, world.size);
  run.spec.capacity = run.sampler->capacity(run.data.train.sizes());
  if (!run.data.validation.empty())
    run.spec.eval_capacity =
        eval_capacity_of(run.data.validation, recipe.train.per_device_eval_batch_size);
  run.schedule.type = recipe.train.lr_scheduler_type;
  run.schedule.peak = recipe.train.learning_rate;
  run.schedule.total_steps = run.sampler->steps();
  run.schedule.warmup_steps = resolve_warmup_steps(recipe.train, run.sampler->steps());
  check_deepspeed_agrees(recipe, {world.size, run.schedule.total_steps, run.schedule.warmup_steps});
  for (std::string& remark : remarks_of(run, chat_template, tokenizer))
    run.remarks.push_back(std::move(remark));
  // What is saved describes what was trained.
  if (recipe.model.rope_scaling)
    run.files.config = stretched_json(*recipe.model.rope_scaling, recipe.data.cutoff_len,
                                      std::move(run.files.config));
  save_end_of_text(chat_template, tokenizer, run.files);
  return run;
}

}  // namespace cairn
