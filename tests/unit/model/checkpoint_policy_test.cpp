// The words of checkpoint policies, and what each means for every block.
#include "model/checkpoint_policy.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cairn::test {
namespace {

std::vector<Keep> first_of(std::string_view words, int64_t num_blocks) {
  std::vector<Keep> keeps;
  for (const BlockPolicy& block : make_policy(*parse_policy(words), num_blocks))
    keeps.push_back(block.first);
  return keeps;
}

TEST(CheckpointPolicy, words_are_printed_as_they_are_read) {
  for (const char* words : {"none", "block", "every:3", "sqrt", "nested", "nested:5", "selective",
                            "offload", "auto", "8*block+4*none", "6*every:3+2*selective+1*offload"})
    EXPECT_EQ(to_string(*parse_policy(words)), words);
}

TEST(CheckpointPolicy, text_that_is_no_policy_is_none) {
  for (const char* words : {"", "every", "every:", "every:0", "every:-1", "every:x", "block:2",
                            "sqrt:2", "0*block", "*block", "2*", "block+none", "2*block+none",
                            "2*block+", "+", "2*auto", "99999999999999999999*block"})
    EXPECT_FALSE(parse_policy(words)) << words;
}

TEST(CheckpointPolicy, a_segment_keeps_the_input_of_its_first_block_only) {
  const Keep input = Keep::input, nothing = Keep::nothing;
  EXPECT_EQ(first_of("every:2", 4), (std::vector{input, nothing, input, nothing}));
  // Segments are of nearly equal length, none above the one asked for.
  EXPECT_EQ(first_of("every:3", 4), (std::vector{input, nothing, input, nothing}));
  EXPECT_EQ(first_of("sqrt", 9), (std::vector{input, nothing, nothing, input, nothing, nothing,
                                              input, nothing, nothing}));
  EXPECT_EQ(first_of("every:1", 3), (std::vector{input, input, input}));
}

TEST(CheckpointPolicy, nested_differs_from_sqrt_in_what_recomputation_keeps) {
  const CheckpointPolicy root = make_policy(*parse_policy("sqrt"), 4);
  const CheckpointPolicy nested = make_policy(*parse_policy("nested"), 4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(root[i].first, nested[i].first);
    EXPECT_EQ(root[i].again, Keep::everything);
    EXPECT_EQ(nested[i].again, Keep::input);
  }
}

TEST(CheckpointPolicy, a_mix_treats_blocks_in_its_order) {
  EXPECT_EQ(first_of("1*offload+1*block+1*selective+1*none", 4),
            (std::vector{Keep::paged_input, Keep::input, Keep::selected, Keep::everything}));
}

TEST(CheckpointPolicy, a_mix_for_another_number_of_blocks_is_refused_with_both_numbers) {
  for (const char* words : {"2*block+1*none", "9*block", "3*block+3*none"}) {
    try {
      make_policy(*parse_policy(words), 4);
      ADD_FAILURE() << words << " was taken";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("4 blocks"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace cairn::test
