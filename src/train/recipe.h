// The recipe of a run: plain data, one struct per subject, fields named like LLaMA-Factory's keys.
// It is read from YAML or JSON through one table of keys (train/recipe_key.h), fully resolved: a
// field holds what the run will use. Nothing is dropped in silence: a key without effect leaves a
// note that says why, a key that cannot be honoured is refused with what to use instead.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/mix_strategy.h"
#include "model/checkpoint_policy.h"
#include "model/rotary.h"
#include "model/trained_precision.h"
#include "train/deepspeed/deepspeed_config.h"
#include "train/optimizers/optimizer_settings.h"
#include "train/recipe_source.h"
#include "train/sharding/sharding_settings.h"

namespace cairn {

enum class FinetuningType : uint8_t { lora, full };
// Answers to prompts, or plain text.
enum class Stage : uint8_t { sft, pt };
enum class SchedulerType : uint8_t { linear, cosine, constant, constant_with_warmup };
// The first two are one. What a name says of place and coding are keys of their own below.
enum class OptimizerType : uint8_t {
  adamw_torch,
  adamw_torch_fused,
  adamw_8bit,
  paged_adamw_8bit,
  paged_adamw_32bit,
  sgd
};
// When to evaluate, to save.
enum class IntervalStrategy : uint8_t { no, steps, epoch };
// All tiled and exact but `disabled`, which keeps every probability.
enum class FlashAttention : uint8_t { automatic, fa2, fa3, sdpa, disabled };
// Whose format, and which 4-bit code, frozen weights are quantised to.
enum class QuantizationMethod : uint8_t { bnb };
enum class QuantizationType : uint8_t { nf4 };

std::string_view name_of(FinetuningType type);
std::string_view name_of(Stage stage);
std::string_view name_of(SchedulerType type);
std::string_view name_of(OptimizerType type);
std::string_view name_of(IntervalStrategy strategy);
std::string_view name_of(TrainedPrecision precision);
std::string_view name_of(FlashAttention attention);
std::string_view name_of(QuantizationMethod method);
std::string_view name_of(QuantizationType type);
std::string_view name_of(StatePlace place);
std::string_view name_of(MixStrategy strategy);

struct ModelRecipe {
  std::string model_name_or_path;
  std::string adapter_name_or_path;  // empty: none
  FlashAttention flash_attn = FlashAttention::automatic;
  std::optional<int64_t> quantization_bit;  // 4, or none; a quantised checkpoint stays as it is
  bool double_quantization = true;
  std::vector<std::string> plain_modules;  // key "llm_int8_skip_modules": stay as they are
  bool upcast_layernorm = false;           // frozen norms in f32
  std::optional<RopeKind> rope_scaling;    // stretches positions as far as cutoff_len asks
  bool operator==(const ModelRecipe&) const = default;
};

struct MethodRecipe {
  Stage stage = Stage::sft;
  bool do_train = false;
  FinetuningType finetuning_type = FinetuningType::lora;
  int64_t lora_rank = 8;
  int64_t lora_alpha = 16;                         // resolved: 2 * lora_rank unless given
  std::vector<std::string> lora_target = {"all"};  // last components of module names, or "all"
  double lora_dropout = 0;                         // of the input of A
  bool use_rslora = false;                         // scale alpha / sqrt(rank)
  std::optional<double> loraplus_lr_ratio;         // learning rate of B over that of A
  std::vector<std::string> additional_target;      // ends of module names, trained in full
  bool operator==(const MethodRecipe&) const = default;
};

// Positions and rows are 32-bit, and a plan holds a batch's indices on the host.
inline constexpr int64_t kMostBatchTokens = int64_t{1} << 26;

struct DataRecipe {
  std::vector<std::string> dataset;       // names in dataset_info.json, in the order given
  std::vector<std::string> eval_dataset;  // empty: none, or split off by val_size
  std::string dataset_dir = "data";
  std::string template_name;  // key "template"; empty: the tokenizer's own, else "empty"
  int64_t cutoff_len = 2048;
  std::optional<int64_t> max_samples;  // the first n rows of each data set
  double val_size = 0;                 // below 1 a share, else a count
  bool train_on_prompt = false;
  bool mask_history = false;
  std::string default_system;  // empty: the template's own
  bool disable_shuffling = false;
  bool packing = false;          // resolved: on if neat_packing is, and for pt unless given
  bool neat_packing = false;     // the same here: packed samples never see each other
  bool group_by_length = false;  // unless disable_shuffling
  MixStrategy mix_strategy = MixStrategy::concat;
  std::vector<double> interleave_probs;  // a share for each data set; empty: in turn
  std::optional<bool> enable_thinking =
      true;  // of reasoning templates; none: as false, thoughts kept
  bool preserve_thinking = false;
  std::string tool_format;                  // empty: the template's own
  std::string tokenized_path;               // empty: the cache only
  bool overwrite_cache = false;             // tokenise again what the cache has
  int64_t preprocessing_batch_size = 1000;  // of pt: rows that are joined before a rest is dropped
  bool operator==(const DataRecipe&) const = default;
};

// Schedule, optimizer and precision.
struct TrainRecipe {
  int64_t per_device_train_batch_size = 8;
  int64_t per_device_eval_batch_size = 8;
  int64_t gradient_accumulation_steps = 1;
  OptimizerType optim = OptimizerType::adamw_torch;
  double learning_rate = 5e-5;
  double num_train_epochs = 3;
  std::optional<int64_t> max_steps;  // overrides num_train_epochs
  SchedulerType lr_scheduler_type = SchedulerType::linear;
  double warmup_ratio = 0;
  double warmup_steps = 0;  // above 0 it overrides warmup_ratio; below 1 a share of the steps
  double weight_decay = 0;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double max_grad_norm = 1;  // 0: no clipping
  int64_t seed = 42;
  int64_t data_seed = 42;  // resolved: seed unless given
  bool bf16 = false;       // storage of saved and boundary tensors; f32 without
  TrainedPrecision trained_precision = TrainedPrecision::f32;
  IntervalStrategy eval_strategy = IntervalStrategy::no;
  double eval_steps = 500;  // resolved: logging_steps unless given; below 1 a share of the steps
  bool operator==(const TrainRecipe&) const = default;
};

// Where a run begins. `automatic`, LLaMA-Factory's rule: with the last checkpoint of output_dir, if
// it has one and may not be overwritten. The paths are tried like every path of a recipe.
struct ResumeChoice {
  enum class Kind : uint8_t { automatic, anew, last, path };
  Kind kind = Kind::automatic;
  std::string path;
  bool operator==(const ResumeChoice&) const = default;
};

struct OutputRecipe {
  std::string output_dir = "trainer_output";
  bool overwrite_output_dir = false;
  double logging_steps = 500;  // below 1 a share of the steps
  bool logging_first_step = false;
  IntervalStrategy save_strategy = IntervalStrategy::steps;
  double save_steps = 500;  // below 1 a share of the steps
  bool save_only_model = false;
  std::optional<int64_t> save_total_limit;  // checkpoints that are kept; none: all
  ResumeChoice resume;                      // key "resume_from_checkpoint"
  bool plot_loss = false;
  bool operator==(const OutputRecipe&) const = default;
};

struct MemoryRecipe {
  std::optional<int64_t> memory_budget;               // bytes
  PolicyChoice checkpointing;                         // key "gradient_checkpointing"
  int64_t loss_chunk = 0;                             // tokens; 0: auto
  int64_t mlp_tile = 0;                               // tokens; 0: auto
  StatePlace weights_place = StatePlace::resident;    // of the blocks' frozen weights
  StatePlace optimizer_place = StatePlace::resident;  // resolved: paged if optim is
  int64_t page_resident = kDefaultPageResident;       // bytes of paged things that stay in memory
  bool optimizer_in_backward = false;   // each unit's update as soon as its gradients are there
  bool max_grad_norm_per_unit = false;  // clips each unit alone, which needs no pass for the norm
  std::string page_dir;                 // empty: output_dir
  std::string device = "auto";          // auto, cpu, cuda, cuda:N
  int64_t threads = 0;                  // 0: auto
  bool operator==(const MemoryRecipe&) const = default;
};

// The key "deepspeed": another spelling of what it sets in the other subjects.
struct DeepspeedRecipe {
  std::string source;  // a path, JSON, or base64 of JSON; empty: none
  DeepspeedConfig config;
  bool operator==(const DeepspeedRecipe&) const = default;
};

// A key that was given and has no effect here, and why.
struct Note {
  std::string key;
  std::string text;
  bool operator==(const Note&) const = default;
};

struct Recipe {
  ModelRecipe model;
  MethodRecipe method;
  DataRecipe data;
  TrainRecipe train;
  OutputRecipe output;
  MemoryRecipe memory;
  ShardingSettings sharding;
  DeepspeedRecipe deepspeed;
  std::vector<Note> notes;       // in the order the keys were given
  std::filesystem::path folder;  // of the file that was read: relative paths are tried from it too
  GivenKeys given;               // what was read
};

enum class RecipeFormat : uint8_t { yaml, json };

// Reads a file (JSON if its name ends in .json) and applies `overrides`, each "key=value" with the
// value written as in YAML; of two for one key the later holds. Throws UserError for what the user
// can mend: an unknown key (with the nearest known one), a key given twice, a wrong type or range,
// keys that contradict each other, and what this version refuses.
Recipe read_recipe(const std::filesystem::path& path,
                   const std::vector<std::string>& overrides = {});
// The same over text. `origin` names it in errors, `folder` is where files that it names are looked
// for too.
Recipe parse_recipe(std::string_view text, RecipeFormat format = RecipeFormat::yaml,
                    const std::vector<std::string>& overrides = {},
                    std::string_view origin = "the recipe",
                    const std::filesystem::path& folder = {});

// The recipe that was read, with other keys: each override is as read_recipe takes it.
Recipe read_again(const Recipe& recipe, const std::vector<std::string>& overrides);

// Every honoured key with its resolved value; reading it back gives an equal recipe. Keys without
// effect are left out; the YAML form carries their notes as comments.
std::string to_yaml(const Recipe& recipe);
std::string to_json(const Recipe& recipe);

// A count of steps given as a number or, below 1, as a share of `total_steps`; at least 1.
int64_t resolve_steps(double steps, int64_t total_steps);
// Steps of warm-up: warmup_steps if above 0, else warmup_ratio of `total_steps`, rounded up.
int64_t resolve_warmup_steps(const TrainRecipe& train, int64_t total_steps);

}  // namespace cairn
