// Every value that a DeepSpeed JSON and a recipe both give, compared; all differences in one error.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "train/deepspeed/deepspeed_recipe.h"

namespace cairn {
namespace {

class Agreement {
 public:
  // A value there against the recipe's. `of_recipe` says where the recipe has it.
  template <typename T>
  void expect(std::string_view path, const Setting<T>& there, const T& here,
              const std::string& of_recipe) {
    if (there.value && *there.value != here)
      differences_.push_back(
          fmt::format("{} is {} there, {} is {} here", path, *there.value, of_recipe, here));
  }
  // The same where a file that has the section leaves the value out, which is DeepSpeed's own then.
  template <typename T>
  void expect_or(const T& own, std::string_view path, const Setting<T>& there, const T& here,
                 const std::string& of_recipe) {
    if (there.is_auto || there.value) return expect(path, there, here, of_recipe);
    if (own != here)
      differences_.push_back(fmt::format("{} is not there, which is {} to DeepSpeed, {} is {} here",
                                         path, own, of_recipe, here));
  }
  void expect_that(bool agrees, std::string difference) {
    if (!agrees) differences_.push_back(std::move(difference));
  }

  void raise(const std::string& origin) const {
    if (differences_.empty()) return;
    throw UserError(
        fmt::format("deepspeed: {} and the recipe disagree: {}; make them equal, or "
                    "write \"auto\" in the file, which takes the recipe's value",
                    origin, fmt::join(differences_, "; ")));
  }

 private:
  std::vector<std::string> differences_;
};

void compare_batch(Agreement& agreement, const DeepspeedConfig& config, const TrainRecipe& train,
                   const RunFacts& facts) {
  const int64_t micro = train.per_device_train_batch_size;
  const int64_t accumulation = train.gradient_accumulation_steps;
  agreement.expect("train_micro_batch_size_per_gpu", config.train_micro_batch_size_per_gpu, micro,
                   "per_device_train_batch_size");
  agreement.expect("gradient_accumulation_steps", config.gradient_accumulation_steps, accumulation,
                   "gradient_accumulation_steps");
  if (facts.world_size)
    agreement.expect("train_batch_size", config.train_batch_size,
                     micro * accumulation * *facts.world_size,
                     fmt::format("{} ranks x per_device_train_batch_size {} x "
                                 "gradient_accumulation_steps {}",
                                 *facts.world_size, micro, accumulation));
  agreement.expect("gradient_clipping", config.gradient_clipping, train.max_grad_norm,
                   "max_grad_norm");
  agreement.expect("fp16.enabled", config.fp16, false, "fp16");
  agreement.expect("bf16.enabled", config.bf16, train.bf16, "bf16");
}

void compare_optimizer(Agreement& agreement, const DeepspeedOptimizer& there,
                       const TrainRecipe& here) {
  if (there.type.empty()) return;
  const std::string params = "optimizer.params.";
  const bool is_adamw =
      here.optim == OptimizerType::adamw_torch || here.optim == OptimizerType::adamw_torch_fused;
  agreement.expect_that(is_adamw, fmt::format("optimizer.type is {} there, optim is {} here",
                                              there.type, name_of(here.optim)));
  agreement.expect_or(1e-3, params + "lr", there.lr, here.learning_rate, "learning_rate");
  if (!there.betas.is_auto) {
    const auto betas = there.betas.value.value_or(std::pair(0.9, 0.999));
    agreement.expect_that(
        betas == std::pair(here.adam_beta1, here.adam_beta2),
        fmt::format("{}betas are {} and {} there, adam_beta1 and adam_beta2 are {} and {} here",
                    params, betas.first, betas.second, here.adam_beta1, here.adam_beta2));
  }
  agreement.expect_or(1e-8, params + "eps", there.eps, here.adam_epsilon, "adam_epsilon");
  agreement.expect_or(0.0, params + "weight_decay", there.weight_decay, here.weight_decay,
                      "weight_decay");
}

void compare_scheduler(Agreement& agreement, const DeepspeedScheduler& there,
                       const TrainRecipe& here, const RunFacts& facts) {
  if (there.type.empty()) return;
  const std::string params = "scheduler.params.";
  const SchedulerType wanted =
      there.type == "WarmupLR" ? SchedulerType::constant_with_warmup : SchedulerType::linear;
  agreement.expect_that(here.lr_scheduler_type == wanted,
                        fmt::format("scheduler.type is {} there, which is lr_scheduler_type: {}, "
                                    "and it is {} here",
                                    there.type, name_of(wanted), name_of(here.lr_scheduler_type)));
  agreement.expect(params + "warmup_min_lr", there.warmup_min_lr, 0.0, "the first rate");
  agreement.expect_or(1e-3, params + "warmup_max_lr", there.warmup_max_lr, here.learning_rate,
                      "learning_rate");
  if (facts.warmup_steps)
    agreement.expect_or<int64_t>(1000, params + "warmup_num_steps", there.warmup_num_steps,
                                 *facts.warmup_steps, "the count of warm-up steps");
  agreement.expect_that(
      there.rises_in_a_line || facts.warmup_steps.value_or(0) == 0,
      params +
          "warmup_type is not there, which is log to DeepSpeed, and here the rate rises in a "
          "straight line: write \"linear\", or leave \"scheduler\" out");
  if (facts.total_steps)
    agreement.expect(params + "total_num_steps", there.total_num_steps, *facts.total_steps,
                     "the count of steps");
}

}  // namespace

void check_deepspeed_agrees(const Recipe& recipe, const RunFacts& facts) {
  if (recipe.deepspeed.source.empty()) return;
  const DeepspeedConfig& config = recipe.deepspeed.config;
  Agreement agreement;
  compare_batch(agreement, config, recipe.train, facts);
  compare_optimizer(agreement, config.optimizer, recipe.train);
  compare_scheduler(agreement, config.scheduler, recipe.train, facts);
  agreement.raise(config.origin);
}

}  // namespace cairn
