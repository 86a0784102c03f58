// The words themselves. To take one more, move it from the refused list to the taken one.
#include "train/recipe_words.h"

#include "base/error.h"

namespace cairn {
namespace {

template <typename E>
std::string_view word_for(E value) {
  for (const auto& [word, taken] : words_of(value).taken)
    if (taken == value) return word;
  throw CheckFailed("[recipe] wanted a value that has a word");
}

}  // namespace

const EnumWords<Stage>& words_of(Stage) {
  static const EnumWords<Stage> words = {
      {{"sft", Stage::sft}, {"pt", Stage::pt}},
      {"rm", "ppo", "dpo", "kto"},
      "use sft with a data set of prompts and answers, or pt with plain text"};
  return words;
}

const EnumWords<FinetuningType>& words_of(FinetuningType) {
  static const EnumWords<FinetuningType> words = {
      {{"lora", FinetuningType::lora}, {"full", FinetuningType::full}},
      {"freeze", "oft"},
      "lora trains few parameters, full trains all"};
  return words;
}

const EnumWords<SchedulerType>& words_of(SchedulerType) {
  static const EnumWords<SchedulerType> words = {
      {{"linear", SchedulerType::linear},
       {"cosine", SchedulerType::cosine},
       {"constant", SchedulerType::constant},
       {"constant_with_warmup", SchedulerType::constant_with_warmup}},
      {"cosine_with_restarts", "polynomial", "inverse_sqrt", "reduce_lr_on_plateau",
       "cosine_with_min_lr", "cosine_warmup_with_min_lr", "warmup_stable_decay", "greedy"},
      "cosine is the nearest that falls, constant_with_warmup the nearest that does not"};
  return words;
}

const EnumWords<IntervalStrategy>& words_of(IntervalStrategy) {
  static const EnumWords<IntervalStrategy> words = {{{"no", IntervalStrategy::no},
                                                     {"steps", IntervalStrategy::steps},
                                                     {"epoch", IntervalStrategy::epoch}},
                                                    {"best"},
                                                    "epoch keeps one result for every epoch"};
  return words;
}

const EnumWords<TrainedPrecision>& words_of(TrainedPrecision) {
  static const EnumWords<TrainedPrecision> words = {{{"f32", TrainedPrecision::f32},
                                                     {"mixed", TrainedPrecision::mixed},
                                                     {"pure_bf16", TrainedPrecision::pure_bf16}},
                                                    {},
                                                    ""};
  return words;
}

const EnumWords<FlashAttention>& words_of(FlashAttention) {
  static const EnumWords<FlashAttention> words = {{{"auto", FlashAttention::automatic},
                                                   {"fa2", FlashAttention::fa2},
                                                   {"fa3", FlashAttention::fa3},
                                                   {"sdpa", FlashAttention::sdpa},
                                                   {"disabled", FlashAttention::disabled}},
                                                  {},
                                                  ""};
  return words;
}

const EnumWords<QuantizationMethod>& words_of(QuantizationMethod) {
  static const EnumWords<QuantizationMethod> words = {
      {{"bnb", QuantizationMethod::bnb}, {"bitsandbytes", QuantizationMethod::bnb}},
      {"hqq", "eetq", "gptq", "awq", "aqlm", "quanto", "mxfp4", "fp8"},
      "bnb quantises while it loads"};
  return words;
}

const EnumWords<QuantizationType>& words_of(QuantizationType) {
  static const EnumWords<QuantizationType> words = {
      {{"nf4", QuantizationType::nf4}},
      {"fp4"},
      "nf4 fits weights better at the same size; checkpoints in fp4 are read as they are"};
  return words;
}

const EnumWords<StatePlace>& words_of(StatePlace) {
  static const EnumWords<StatePlace> words = {
      {{"resident", StatePlace::resident}, {"paged", StatePlace::paged}}, {}, ""};
  return words;
}

const EnumWords<RopeKind>& words_of(RopeKind) {
  static const EnumWords<RopeKind> words = {{{"linear", RopeKind::linear},
                                             {"dynamic", RopeKind::dynamic},
                                             {"yarn", RopeKind::yarn},
                                             {"llama3", RopeKind::llama3}},
                                            {"longrope"},
                                            "longrope needs divisors that were trained"};
  return words;
}

const EnumWords<MixStrategy>& words_of(MixStrategy) {
  static const EnumWords<MixStrategy> words = {{{"concat", MixStrategy::concat},
                                                {"interleave_under", MixStrategy::interleave_under},
                                                {"interleave_over", MixStrategy::interleave_over},
                                                {"interleave_once", MixStrategy::interleave_once}},
                                               {},
                                               ""};
  return words;
}

std::string_view name_of(MixStrategy strategy) { return word_for(strategy); }
std::string_view name_of(Stage stage) { return word_for(stage); }
std::string_view name_of(FinetuningType type) { return word_for(type); }
std::string_view name_of(SchedulerType type) { return word_for(type); }
std::string_view name_of(OptimizerType type) { return word_for(type); }
std::string_view name_of(IntervalStrategy strategy) { return word_for(strategy); }
std::string_view name_of(TrainedPrecision precision) { return word_for(precision); }
std::string_view name_of(FlashAttention attention) { return word_for(attention); }
std::string_view name_of(QuantizationMethod method) { return word_for(method); }
std::string_view name_of(QuantizationType type) { return word_for(type); }
std::string_view name_of(StatePlace place) { return word_for(place); }

}  // namespace cairn
