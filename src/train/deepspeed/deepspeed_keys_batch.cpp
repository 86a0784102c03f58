// The keys that repeat what a recipe says: batch, precision, optimizer, scheduler. Each may be
// "auto", and must say the same as the recipe where it is not.
#include "train/deepspeed/deepspeed_key.h"

namespace cairn::deepspeed {
namespace {

using enum ValueKind;
using Config = DeepspeedConfig;

std::vector<Key> batch_size_keys() {
  const auto one = at_least<int64_t>(1);
  return {honoured_or_auto<int64_t>(
              "train_batch_size", one, [](Config & c) -> auto& { return c.train_batch_size; }),
          honoured_or_auto<int64_t>(
              "train_micro_batch_size_per_gpu", one,
              [](Config & c) -> auto& { return c.train_micro_batch_size_per_gpu; }),
          honoured_or_auto<int64_t>(
              "gradient_accumulation_steps", one,
              [](Config & c) -> auto& { return c.gradient_accumulation_steps; }),
          honoured_or_auto<double>(
              "gradient_clipping", at_least<double>(0),
              [](Config & c) -> auto& { return c.gradient_clipping; })};
}

void add_precision_keys(std::vector<Key>& keys) {
  keys.push_back(honoured_or_auto<bool>(
      "fp16.enabled", {}, [](Config & c) -> auto& { return c.fp16; }));
  const std::string scaling = "it belongs to fp16, and bf16 needs no loss scaling";
  // Every example file carries these five beside an fp16 that is off.
  const auto quiet = [&](const std::string& path, ValueKind kind) {
    Key key = without_effect(path, kind, scaling);
    key.is_quiet = [](const Given&) { return true; };
    keys.push_back(std::move(key));
  };
  quiet("fp16.auto_cast", boolean);
  quiet("fp16.loss_scale", number);
  quiet("fp16.initial_scale_power", integer);
  quiet("fp16.loss_scale_window", integer);
  quiet("fp16.hysteresis", integer);
  quiet("fp16.consecutive_hysteresis", boolean);
  quiet("fp16.min_loss_scale", number);
  quiet("fp16.fp16_master_weights_and_grads", boolean);
  keys.push_back(honoured_or_auto<bool>(
      "bf16.enabled", {}, [](Config & c) -> auto& { return c.bf16; }));
  keys.push_back(without_effect("bf16.immediate_grad_update", boolean,
                                "a gradient is added where it is kept as soon as it is complete"));
  keys.push_back(without_effect("bf16.check_grad_overflow", boolean,
                                "every gradient is checked to be finite", {"true"}));
  for (const char* name : {"bf16.bf16_master_weights_and_grads", "bf16.bf16_optimizer_states"})
    keys.push_back(
        refused(name, "use pure_bf16: true in the recipe, which keeps no f32 master", {"false"}));
  keys.push_back(refused("data_types.grad_accum_dtype",
                         "leave it out: gradients are kept in the type of the trained weights, and "
                         "trained_precision: f32 in the recipe keeps both in f32",
                         {"auto"}));
  keys.push_back(refused("amp.enabled", "use bf16: true in the recipe", {"false", "auto"}));
  keys.push_back(without_effect("amp.opt_level", text, "it belongs to amp"));
}

Key optimizer_type_key() {
  Key key;
  key.path = "optimizer.type";
  key.expected = "Adam or AdamW";
  key.read = [](Config& config, const Given& given) {
    if (!given.is_scalar()) throw_wrong_value("optimizer.type", "Adam or AdamW", given);
    if (given.text != "Adam" && given.text != "AdamW")
      throw_not_taken("optimizer.type", given, "Adam, AdamW",
                      "leave \"optimizer\" out and say it by optim in the recipe");
    config.optimizer.type = given.text;
  };
  return key;
}

Key betas_key() {
  Key key;
  key.path = "optimizer.params.betas";
  key.expected = "two numbers from 0 up to but not including 1, or auto";
  key.read = [expected = key.expected](Config& config, const Given& given) {
    std::pair<double, double> betas;
    const auto read = [&](size_t index, double& beta) {
      return read_value(given.items[index], beta) && beta >= 0 && beta < 1;
    };
    const bool pair = given.kind == Given::Kind::sequence && given.items.size() == 2;
    if (is_auto(given))
      config.optimizer.betas = {true, std::nullopt};
    else if (pair && read(0, betas.first) && read(1, betas.second))
      config.optimizer.betas = {false, betas};
    else
      throw_wrong_value("optimizer.params.betas", expected, given);
  };
  return key;
}

void add_optimizer_keys(std::vector<Key>& keys) {
  const std::string section = "optimizer.params.";
  const auto none = at_least<double>(0);
  keys.push_back(optimizer_type_key());
  keys.push_back(honoured_or_auto<double>(
      section + "lr", none, [](Config & c) -> auto& { return c.optimizer.lr; }));
  keys.push_back(betas_key());
  keys.push_back(honoured_or_auto<double>(
      section + "eps", above(0), [](Config & c) -> auto& { return c.optimizer.eps; }));
  keys.push_back(honoured_or_auto<double>(
      section + "weight_decay", none,
      [](Config & c) -> auto& { return c.optimizer.weight_decay; }));
  keys.push_back(without_effect(section + "torch_adam", boolean, "Cairn has one AdamW"));
  keys.push_back(refused(section + "adam_w_mode",
                         "weight decay here is decoupled from the gradient, as AdamW's", {"true"}));
  keys.push_back(refused(section + "bias_correction", "leave it out", {"true"}));
  keys.push_back(refused(section + "amsgrad", "leave it out", {"false"}));
  keys.push_back(refused(section + "freeze_step", "use Adam or AdamW"));
  keys.push_back(
      without_effect("optimizer.legacy_fusion", boolean, "Cairn has one AdamW", {"false"}));
}

Key scheduler_type_key() {
  Key key;
  key.path = "scheduler.type";
  key.expected = "WarmupLR or WarmupDecayLR";
  key.read = [](Config& config, const Given& given) {
    if (!given.is_scalar()) throw_wrong_value("scheduler.type", "a scheduler's name", given);
    if (given.text != "WarmupLR" && given.text != "WarmupDecayLR")
      throw_not_taken("scheduler.type", given, "WarmupLR, WarmupDecayLR",
                      "leave \"scheduler\" out and say it by lr_scheduler_type in the recipe");
    config.scheduler.type = given.text;
  };
  return key;
}

Key warmup_type_key() {
  Key key = refused("scheduler.params.warmup_type",
                    "the rate rises in a straight line here; write linear, and "
                    "lr_scheduler_type in the recipe for another shape",
                    {"linear"});
  key.read = [refuse = key.read](Config& config, const Given& given) {
    refuse(config, given);
    config.scheduler.rises_in_a_line = true;
  };
  return key;
}

void add_scheduler_keys(std::vector<Key>& keys) {
  const std::string section = "scheduler.params.";
  const auto none = at_least<double>(0);
  const auto steps = at_least<int64_t>(0);
  keys.push_back(scheduler_type_key());
  keys.push_back(honoured_or_auto<double>(
      section + "warmup_min_lr", none,
      [](Config & c) -> auto& { return c.scheduler.warmup_min_lr; }));
  keys.push_back(honoured_or_auto<double>(
      section + "warmup_max_lr", none,
      [](Config & c) -> auto& { return c.scheduler.warmup_max_lr; }));
  keys.push_back(honoured_or_auto<int64_t>(
      section + "warmup_num_steps", steps,
      [](Config & c) -> auto& { return c.scheduler.warmup_num_steps; }));
  keys.push_back(honoured_or_auto<int64_t>(
      section + "total_num_steps", steps,
      [](Config & c) -> auto& { return c.scheduler.total_num_steps; }));
  keys.push_back(warmup_type_key());
  keys.push_back(refused(section + "last_batch_iteration", "leave it out", {"-1"}));
}

}  // namespace

std::vector<Key> batch_keys() {
  std::vector<Key> keys = batch_size_keys();
  add_precision_keys(keys);
  add_optimizer_keys(keys);
  add_scheduler_keys(keys);
  return keys;
}

}  // namespace cairn::deepspeed
