// The words of a recipe's enumerations: which this version takes, and which LLaMA-Factory knows
// that it does not take yet. The second kind is refused by name, with what to use instead.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/recipe.h"

namespace cairn {

template <typename E>
struct EnumWords {
  std::vector<std::pair<std::string_view, E>> taken;
  std::vector<std::string_view> not_taken;
  std::string_view instead;  // a clause that ends the refusal
  // The clause of single words, where one for all would say too little.
  std::vector<std::pair<std::string_view, std::string_view>> own_instead = {};

  std::string_view instead_of(std::string_view word) const {
    for (const auto& [own, clause] : own_instead)
      if (own == word) return clause;
    return instead;
  }
};

const EnumWords<Stage>& words_of(Stage);
const EnumWords<FinetuningType>& words_of(FinetuningType);
const EnumWords<SchedulerType>& words_of(SchedulerType);
const EnumWords<OptimizerType>& words_of(OptimizerType);
const EnumWords<IntervalStrategy>& words_of(IntervalStrategy);
const EnumWords<TrainedPrecision>& words_of(TrainedPrecision);
const EnumWords<FlashAttention>& words_of(FlashAttention);
const EnumWords<QuantizationMethod>& words_of(QuantizationMethod);
const EnumWords<QuantizationType>& words_of(QuantizationType);
const EnumWords<StatePlace>& words_of(StatePlace);
const EnumWords<RopeKind>& words_of(RopeKind);
const EnumWords<MixStrategy>& words_of(MixStrategy);

// "linear, cosine, constant"
template <typename E>
std::string list_of_taken(const EnumWords<E>& words) {
  std::string list;
  for (const auto& [word, value] : words.taken) {
    if (!list.empty()) list += ", ";
    list += word;
  }
  return list;
}

}  // namespace cairn
