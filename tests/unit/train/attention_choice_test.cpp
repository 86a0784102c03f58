// flash_attn and Hugging Face's attn_implementation: what they choose, and on which target.
#include "train/attention_choice.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "train/prepare.h"

namespace cairn {
namespace {

Recipe parsed(const std::string& text) { return parse_recipe("model_name_or_path: m\n" + text); }

TargetProfile cuda_target(int compute_capability) {
  TargetProfile target;
  target.name = "a CUDA device";
  target.compute_capability = compute_capability;
  return target;
}

TEST(AttentionChoice, every_word_is_honoured_as_it_is_on_a_cpu) {
  for (const FlashAttention asked :
       {FlashAttention::automatic, FlashAttention::fa2, FlashAttention::fa3, FlashAttention::sdpa,
        FlashAttention::disabled}) {
    const AttentionChoice choice = choose_attention(asked, TargetProfile());
    EXPECT_EQ(choice.used, asked);
    EXPECT_EQ(choice.remark, "");
  }
}

TEST(AttentionChoice, a_target_without_flash_attention_falls_back_to_sdpa_and_says_so) {
  for (const FlashAttention asked :
       {FlashAttention::automatic, FlashAttention::fa2, FlashAttention::fa3}) {
    const AttentionChoice old = choose_attention(asked, cuda_target(75));
    EXPECT_EQ(old.used, FlashAttention::sdpa);
    for (const char* words : {"sdpa", "7.5", "8.0", "a CUDA device"})
      EXPECT_NE(old.remark.find(words), std::string::npos) << old.remark;
    EXPECT_NE(old.remark.find(name_of(asked)), std::string::npos) << old.remark;
    EXPECT_EQ(choose_attention(asked, cuda_target(80)).used, asked);
    EXPECT_EQ(choose_attention(asked, cuda_target(90)).remark, "");
  }
  for (const FlashAttention asked : {FlashAttention::sdpa, FlashAttention::disabled}) {
    EXPECT_EQ(choose_attention(asked, cuda_target(75)).used, asked);
    EXPECT_EQ(choose_attention(asked, cuda_target(75)).remark, "");
  }
}

TEST(AttentionChoice, the_recipe_decides_what_the_model_keeps) {
  const auto kind_of = [](const std::string& text) {
    return make_train_spec(parsed(text), ModelConfig()).model.attention;
  };
  EXPECT_EQ(kind_of(""), AttentionKind::flash);
  for (const char* word : {"auto", "fa2", "fa3", "sdpa"})
    EXPECT_EQ(kind_of(fmt::format("flash_attn: {}", word)), AttentionKind::flash) << word;
  EXPECT_EQ(kind_of("flash_attn: disabled"), AttentionKind::materialised);
}

TEST(AttentionChoice, hugging_face_names_mean_the_same) {
  const std::pair<const char*, FlashAttention> names[] = {
      {"flash_attention_2", FlashAttention::fa2},
      {"flash_attention_3", FlashAttention::fa3},
      {"sdpa", FlashAttention::sdpa},
      {"eager", FlashAttention::disabled}};
  for (const auto& [name, meant] : names)
    EXPECT_EQ(parsed(fmt::format("attn_implementation: {}", name)).model.flash_attn, meant) << name;
  EXPECT_THROW(parsed("attn_implementation: flex_attention"), UserError);
  EXPECT_THROW(parsed("flash_attn: flash_attention_2"), UserError);
  EXPECT_THROW(parsed("flash_attn: fa2\nattn_implementation: eager"), UserError);
}

}  // namespace
}  // namespace cairn
