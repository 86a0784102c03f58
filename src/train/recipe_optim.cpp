// The words of `optim`: every name that Hugging Face knows, taken or refused with the nearest that
// is taken and why it is the nearest.
#include "train/recipe_words.h"

namespace cairn {
namespace {

using Clauses = std::vector<std::pair<std::string_view, std::string_view>>;

void add(Clauses& clauses, std::initializer_list<std::string_view> words, std::string_view clause) {
  for (std::string_view word : words) clauses.emplace_back(word, clause);
}

Clauses clauses_of_refused() {
  Clauses clauses;
  add(clauses, {"adamw_hf", "adamw_torch_xla", "adamw_torch_npu_fused", "adamw_apex_fused"},
      "the nearest is adamw_torch, the same update");
  add(clauses, {"adamw_anyprecision"},
      "the nearest is adamw_torch with pure_bf16: true, whose states are bf16 as well");
  add(clauses, {"adamw_torch_4bit", "adamw_torch_8bit"},
      "the nearest is adamw_8bit, the same update with states in blocks of 8 bits");
  add(clauses,
      {"adafactor", "galore_adamw", "galore_adamw_8bit", "galore_adafactor",
       "galore_adamw_layerwise", "galore_adamw_8bit_layerwise", "galore_adafactor_layerwise",
       "apollo_adamw", "apollo_adamw_layerwise", "lomo", "adalomo"},
      "the nearest that saves memory is adamw_8bit, 2 bytes a trained parameter");
  add(clauses, {"ademamix", "grokadamw", "lion_32bit"},
      "the nearest that adapts to each parameter is adamw_torch");
  add(clauses, {"ademamix_8bit", "lion_8bit"}, "the nearest with states in 8 bits is adamw_8bit");
  add(clauses, {"paged_ademamix_32bit", "paged_lion_32bit"},
      "the nearest with paged states is paged_adamw_32bit");
  add(clauses, {"paged_ademamix_8bit", "paged_lion_8bit"},
      "the nearest with paged states in 8 bits is paged_adamw_8bit");
  add(clauses, {"adagrad", "rmsprop", "rmsprop_bnb", "rmsprop_bnb_32bit"},
      "the nearest that divides by the gradients' size is adamw_torch");
  add(clauses, {"rmsprop_bnb_8bit"},
      "the nearest that divides by the gradients' size, with states in 8 bits, is adamw_8bit");
  add(clauses, {"schedule_free_radam", "schedule_free_adamw"},
      "the nearest is adamw_torch with lr_scheduler_type: constant_with_warmup");
  add(clauses, {"schedule_free_sgd"},
      "the nearest is sgd with lr_scheduler_type: constant_with_warmup");
  return clauses;
}

EnumWords<OptimizerType> make_words() {
  EnumWords<OptimizerType> words;
  words.taken = {{"adamw_torch", OptimizerType::adamw_torch},
                 {"adamw_torch_fused", OptimizerType::adamw_torch_fused},
                 {"adamw_8bit", OptimizerType::adamw_8bit},
                 {"adamw_bnb_8bit", OptimizerType::adamw_8bit},
                 {"paged_adamw_8bit", OptimizerType::paged_adamw_8bit},
                 {"paged_adamw_32bit", OptimizerType::paged_adamw_32bit},
                 {"sgd", OptimizerType::sgd}};
  words.own_instead = clauses_of_refused();
  for (const auto& [word, clause] : words.own_instead) words.not_taken.push_back(word);
  return words;
}

}  // namespace

const EnumWords<OptimizerType>& words_of(OptimizerType) {
  static const EnumWords<OptimizerType> words = make_words();
  return words;
}

}  // namespace cairn
