// The names of trl's SFTConfig that LLaMA-Factory does not have, so that its JSON may be given as
// it is.
#include "train/recipe_key.h"

namespace cairn {
namespace {

using enum ValueKind;

RecipeKey of_data(RecipeKey key) {
  key.subject = "data";
  return key;
}

// Another name of cutoff_len, which wins where both are given.
RecipeKey cutoff_key(const char* name) {
  RecipeKey key =
      honoured(name, &Recipe::data, &DataRecipe::cutoff_len, between_counts(2, kMostBatchTokens));
  key.write = nullptr;
  return key;
}

}  // namespace

std::vector<RecipeKey> sft_config_keys() {
  const std::string prepared = "every sample is tokenised once, in this process, before step 1";
  const std::string unpadded = "batches have no padding";
  const std::string answers =
      "answers alone are trained; use train_on_prompt: true to train on all";
  std::vector<RecipeKey> keys = {
      cutoff_key("max_length"),
      cutoff_key("max_seq_length"),
      no_effect("dataset_num_proc", integer, prepared),
      no_effect("dataset_batch_size", integer, prepared),
      no_effect("num_of_sequences", integer, prepared),
      no_effect("chars_per_token", number, prepared),
      no_effect("dataset_kwargs", anything, prepared),
      no_effect("padding_free", boolean, unpadded, {"true"}),
      no_effect("pad_to_multiple_of", integer, unpadded),
      no_effect("packing_strategy", text, "packing puts each sample where it fits best, whole",
                {"bfd", "ffd"}),
      no_effect("eval_packing", boolean, "evaluation takes each sample by itself", {"false"}),
      no_effect("shuffle_dataset", boolean, "disable_shuffling says whether rows are shuffled",
                {"false"}),
      no_effect("use_liger_kernel", boolean,
                "the head and the cross-entropy are always one chunked layer", {"false"}),
      no_effect("liger_kernel_config", anything, "it belongs to use_liger_kernel"),
      no_effect("dataset_split", text, "files are read whole; val_size splits rows off"),
      // false, its default, leaves open what is trained; completion_only_loss has none.
      no_effect("assistant_only_loss", boolean, answers, {"true"}),
      refused_unless("completion_only_loss", true, answers),
      refused("loss_type", "the loss here is cross-entropy", {"nll", "chunked_nll"}),
      // Its default, which data sets of another format need not have.
      refused("dataset_text_field",
              "use stage: pt, and map the column as `prompt` in dataset_info.json", {"text"}),
      refused_unless("truncation_mode", std::string("keep_start"),
                     "samples keep their first tokens here"),
      refused("chat_template_path", "use template, which names one of the built-in templates"),
      refused("model_init_kwargs", "use bf16, flash_attn and quantization_bit"),
      // A dump of arguments writes every token as such a mask.
      refused("eos_token", "set it in the model's tokenizer_config.json", {"<EOS_TOKEN>"}),
      refused("pad_token", "set it in the model's tokenizer_config.json", {"<PAD_TOKEN>"}),
  };
  for (RecipeKey& key : keys) key = of_data(std::move(key));
  keys.push_back(switch_key("activation_offloading"));
  keys.back().subject = "memory";
  return keys;
}

}  // namespace cairn
