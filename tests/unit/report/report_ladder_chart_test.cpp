// The ladder's picture: it stands alone, names every rung and the budget, and marks what overflows.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/bytes.h"
#include "report/ladder_chart.h"

namespace cairn {
namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Pile pile_of(int64_t weights, int64_t activations) {
  return {{{"runtime", kMiB},
           {"placement", 0},
           {"weights", weights},
           {"gradients", kMiB},
           {"optimizer", kMiB},
           {"workspace", kMiB},
           {"activations", activations}}};
}

LadderChart two_bars(int64_t budget) {
  return {"7B <LoRA>",
          "useful tokens/s",
          budget,
          {{"baseline", pile_of(12 * kGiB, 20 * kGiB), "does not fit"},
           {"+ checkpointing", pile_of(12 * kGiB, kGiB), "36 & more"}}};
}

// Every tag that opens closes, in order.
bool is_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const size_t end = svg.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    } else {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(LadderChart, is_well_formed_and_stands_alone) {
  const std::string svg = ladder_chart_svg(two_bars(24 * kGiB));
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_TRUE(is_well_formed(ladder_chart_svg({})));
}

TEST(LadderChart, names_the_rungs_the_portions_and_the_budget) {
  const std::string svg = ladder_chart_svg(two_bars(24 * kGiB));
  for (const char* words : {">baseline<", ">+ checkpointing<", ">does not fit<", ">36 &amp; more<",
                            ">7B &lt;LoRA&gt;<", ">budget 24.00 GiB<", ">useful tokens/s<"})
    EXPECT_EQ(count_of(svg, words), words == std::string(">7B &lt;LoRA&gt;<") ? 2u : 1u) << words;
  for (const Portion& portion : pile_of(0, 0))
    EXPECT_EQ(count_of(svg, ">" + std::string(portion.name) + "<"), 1u) << portion.name;
}

TEST(LadderChart, draws_a_portion_for_all_that_holds_bytes) {
  const std::string svg = ladder_chart_svg(two_bars(24 * kGiB));
  EXPECT_EQ(count_of(svg, "class=\"portion\""), 2 * (kNumPortions - 1));
}

TEST(LadderChart, hatches_what_lies_beyond_the_budget_and_nothing_else) {
  EXPECT_EQ(count_of(ladder_chart_svg(two_bars(24 * kGiB)), "class=\"over\""), 1u);
  EXPECT_EQ(count_of(ladder_chart_svg(two_bars(8 * kGiB)), "class=\"over\""), 2u);
  EXPECT_EQ(count_of(ladder_chart_svg(two_bars(40 * kGiB)), "class=\"over\""), 0u);
}

TEST(LadderChart, a_budget_far_beyond_the_bars_is_told_in_words) {
  const std::string svg = ladder_chart_svg(two_bars(1000 * kGiB));
  EXPECT_EQ(count_of(svg, "class=\"budget\""), 0u);
  EXPECT_NE(svg.find("all fit"), std::string::npos);
}

}  // namespace
}  // namespace cairn
