// The keys that LLaMA-Factory 0.9.5 lets nobody combine, pair by pair: what Cairn honours is
// refused for the pair, and what it does not, for the key itself; none is read as if nothing were
// wrong.
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/recipe.h"

namespace cairn {
namespace {

std::string refusal_of(const std::string& lines) {
  try {
    parse_recipe("model_name_or_path: m\n" + lines, RecipeFormat::yaml, {}, "r.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "(read)";
}

struct Pair {
  const char* lines;
  const char* words;  // of the refusal
};

const std::string kZero3 = "deepspeed: {zero_optimization: {stage: 3}}\n";

TEST(RecipePairs, each_that_llama_factory_refuses_is_refused) {
  const std::vector<Pair> pairs = {
      {"quantization_bit: 4\nfinetuning_type: full", "quantization_bit keeps the weights frozen"},
      {"quantization_bit: 4\nfinetuning_type: freeze", "finetuning_type: 'freeze'"},
      {"quantization_bit: 4\npissa_init: true", "pissa_init"},
      {"quantization_bit: 4\nresize_vocab: true", "resize_vocab"},
      {"quantization_bit: 4\nadapter_name_or_path: a,b", "several adapters"},
      {"quantization_bit: 4\nadapter_name_or_path: a\ncreate_new_adapter: true",
       "create_new_adapter"},
      {"adapter_name_or_path: a\nfinetuning_type: full", "adapter_name_or_path needs"},
      {"use_galore: true", "use_galore"},
      {"use_apollo: true", "use_apollo"},
      {"use_badam: true", "use_badam"},
      {"finetuning_type: full\nuse_galore: true\nuse_apollo: true", "use_galore"},
      {"finetuning_type: full\nuse_apollo: true\nuse_badam: true", "use_apollo"},
      {"finetuning_type: full\nloraplus_lr_ratio: 16", "loraplus_lr_ratio"},
      {"finetuning_type: full\nuse_rslora: true", "use_rslora"},
      {"finetuning_type: full\nuse_dora: true", "use_dora"},
      {"finetuning_type: full\npissa_init: true", "pissa_init"},
      {"finetuning_type: full\nuse_llama_pro: true", "use_llama_pro"},
      {"use_dora: true\nquantization_bit: 4", "use_dora"},
      {"fp8: true\nquantization_bit: 4", "fp8"},
      {"stage: pt\nneat_packing: true", "neat_packing"},
      {"stage: pt\ntrain_on_prompt: true", "train_on_prompt"},
      {"stage: pt\nmask_history: true", "mask_history"},
      {"stage: dpo\nneat_packing: true", "stage: 'dpo'"},
      {"train_on_prompt: true\nmask_history: true", "contradict each other"},
      {"dataset: a\nval_size: 0.1\neval_dataset: b", "val_size and eval_dataset"},
      {"val_size: 0.1", "val_size splits from dataset"},
      {"dataset: a\nstreaming: true\nval_size: 0.1\nmax_steps: 3", "val_size as a count"},
      {"dataset: a\nstreaming: true\nmax_samples: 3\nmax_steps: 3", "streaming and max_samples"},
      {"dataset: a\nstreaming: true", "streaming wants max_steps"},
      {"dataset: a,b\ninterleave_probs: 0.5,0.5", "interleave_probs are shares"},
      {"dataset: a\nmix_strategy: interleave_under\ninterleave_probs: 0.5,0.5", "counts"},
      {"do_train: true", "do_train needs a data set"},
      {"dataset: a\nstage: rm", "stage: 'rm'"},
  };
  for (const Pair& pair : pairs) {
    const std::string text = refusal_of(pair.lines);
    EXPECT_NE(text.find(pair.words), std::string::npos) << pair.lines << "\nsaid: " << text;
  }
}

TEST(RecipePairs, each_that_llama_factory_refuses_under_zero_3_is_refused) {
  const std::vector<Pair> pairs = {
      {"pissa_init: true", "pissa_init"},
      {"pure_bf16: true", "pure_bf16 goes with stages 0 to 2"},
      {"use_unsloth: true", "use_unsloth does not go with ZeRO-3"},
      {"finetuning_type: full\nuse_galore: true", "use_galore"},
      {"finetuning_type: full\nuse_apollo: true", "use_apollo"},
      {"finetuning_type: full\nuse_badam: true\nbadam_mode: ratio", "use_badam"},
      {"predict_with_generate: true", "predict_with_generate"},
      {"quantization_bit: 8", "quantization_bit: '8'"},
      {"quantization_bit: 4\nquantization_method: hqq", "'hqq'"},
      {"quantization_bit: 4\nquantization_method: eetq", "'eetq'"},
  };
  for (const Pair& pair : pairs) {
    const std::string text = refusal_of(kZero3 + pair.lines);
    EXPECT_NE(text.find(pair.words), std::string::npos) << pair.lines << "\nsaid: " << text;
  }
  EXPECT_EQ(refusal_of("use_unsloth: true"), "(read)");
  EXPECT_EQ(refusal_of(kZero3 + "use_unsloth: false"), "(read)");
  EXPECT_EQ(refusal_of(kZero3 + "quantization_bit: 4"), "(read)");
}

}  // namespace
}  // namespace cairn
