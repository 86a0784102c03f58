// The keys that would change what is trained and that this version does not honour. A value that
// asks for what happens anyway is taken; any other is refused, with what to use instead.
#include <algorithm>

#include "train/recipe_key.h"

namespace cairn {
namespace {

const std::string kPlainLora = "train with plain LoRA";
const std::string kAdamW = "use optim: adamw_torch";
const std::string kDeepspeed =
    "use deepspeed: examples/deepspeed/ds_z3_config.json or zero_stage: 3, which shard as FSDP "
    "does";

std::vector<RecipeKey> model_keys() {
  const std::string as_it_is = "use the model and its tokenizer as they are";
  return {
      refused("quantization_device_map", "leave it out"),
      refused_unless("resize_vocab", false, as_it_is),
      refused_unless("split_special_tokens", false, as_it_is),
      refused("add_tokens", as_it_is),
      refused("add_special_tokens", as_it_is),
      refused("new_special_tokens_config", as_it_is),
      refused_unless("shift_attn", false, "attention here is exact"),
      refused("mixture_of_depths", "use the model as it is"),
      refused("moe_aux_loss_coef", "use a dense model"),
      refused_unless("train_from_scratch", false, "start from the weights of a model"),
      refused("adapter_folder", "give the adapter's own folder as adapter_name_or_path"),
      refused_unless("fp8", false, "use bf16: true"),
      refused_unless("use_kt", false, "use a dense model"),
  };
}

std::vector<RecipeKey> method_keys() {
  return {
      refused_unless("use_dora", false, kPlainLora),
      refused_unless("pissa_init", false, kPlainLora),
      refused_unless("pissa_convert", false, kPlainLora),
      refused_unless("create_new_adapter", false, "merge the first adapter into the model"),
      refused_unless("use_llama_pro", false, "use finetuning_type: lora"),
      refused_unless("use_galore", false, kAdamW),
      refused_unless("use_apollo", false, kAdamW),
      refused_unless("use_badam", false, kAdamW),
      refused_unless("use_adam_mini", false, kAdamW),
      refused_unless("use_muon", false, kAdamW),
      refused_unless("use_dft_loss", false, "the loss here is cross-entropy"),
      refused_unless("use_asft_loss", false, "the loss here is cross-entropy"),
      refused_unless("use_eaft_loss", false, "the loss here is cross-entropy"),
  };
}

std::vector<RecipeKey> data_keys() {
  return {
      refused_unless("eval_on_each_dataset", false, "evaluate on one data set"),
      refused_unless("ignore_pad_token_for_loss", true, "padding never counts in the loss here"),
      refused_unless("dataloader_drop_last", false, "the last, smaller batch is trained on too"),
      refused_unless("label_smoothing_factor", 0.0, "the loss here is plain cross-entropy"),
      refused("neftune_noise_alpha", "leave it out"),
  };
}

// Whether nothing is switched on, as in what Hugging Face's trainer writes of a run without FSDP.
bool switches_nothing_on(const Given& given) {
  bool on = false;
  if (is_empty(given) || (read_value(given, on) && !on)) return true;
  return given.kind == Given::Kind::mapping &&
         std::all_of(given.members.begin(), given.members.end(),
                     [](const GivenKey& member) { return switches_nothing_on(member.value); });
}

RecipeKey fsdp_config_key() {
  RecipeKey key = refused("fsdp_config", kDeepspeed);
  key.read = [refuse = key.read](Recipe& recipe, const Given& given) {
    if (!switches_nothing_on(given)) refuse(recipe, given);
  };
  return key;
}

std::vector<RecipeKey> train_keys() {
  return {
      refused_unless("fp16", false, "use bf16: true, which needs no loss scaling"),
      refused("optim_args", "use adam_beta1, adam_beta2 and adam_epsilon"),
      refused("optim_target_modules", kAdamW),
      refused("lr_scheduler_kwargs", "use warmup_ratio or warmup_steps"),
      refused("fsdp", kDeepspeed, {"false"}),
      fsdp_config_key(),
      refused_unless("load_best_model_at_end", false, "choose among the checkpoints by hand"),
      refused("early_stopping_steps", "use max_steps"),
      refused_unless("logging_strategy", std::string("steps"), "use logging_steps"),
      refused_unless("do_predict", false, "train first, then use cairn generate"),
      refused_unless("predict_with_generate", false, "train first, then use cairn generate"),
      refused_unless("push_to_hub", false, "upload output_dir by other means"),
      refused_unless("auto_find_batch_size", false,
                     "leave it out: cairn plan says which batch size fits"),
  };
}

}  // namespace

std::vector<RecipeKey> refused_keys() {
  std::vector<RecipeKey> keys;
  const auto add = [&](std::string_view subject, std::vector<RecipeKey> table) {
    for (RecipeKey& key : table) {
      key.subject = subject;
      keys.push_back(std::move(key));
    }
  };
  add("model", model_keys());
  add("method", method_keys());
  add("data", data_keys());
  add("train", train_keys());
  return keys;
}

}  // namespace cairn
