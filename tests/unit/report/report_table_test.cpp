// Tables and figures: what people read lines up and says the right number.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "report/figures.h"
#include "report/table.h"

namespace cairn {
namespace {

TEST(Figures, counts_have_separators) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-100), "-100");
  EXPECT_EQ(format_count(-1234), "-1,234");
}

TEST(Figures, durations_grow_from_minutes_to_days) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(42.9), "0:42");
  EXPECT_EQ(format_duration(725), "12:05");
  EXPECT_EQ(format_duration(3723), "1:02:03");
  EXPECT_EQ(format_duration(2 * 86400 + 3 * 3600 + 4 * 60 + 5), "2 d 03:04:05");
  EXPECT_EQ(format_duration(-1), "-:--");
  EXPECT_EQ(format_duration(std::nan("")), "-:--");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "-:--");
}

TEST(Figures, wide_characters_take_two_columns_and_marks_none) {
  EXPECT_EQ(display_width("loss"), 4);
  EXPECT_EQ(display_width("\xE6\x8D\x9F\xE5\xA4\xB1"), 4);  // two ideographs
  EXPECT_EQ(display_width("e\xCC\x81"), 1);                 // e and a combining accent
  EXPECT_EQ(display_width("\xC3\xA9"), 1);
  EXPECT_EQ(display_width("\xF0\x9F\x8F\x94"), 2);  // an emoji
  EXPECT_EQ(display_width("\xFFx\xE6"), 3);         // not UTF-8
  EXPECT_EQ(display_width(""), 0);
}

TEST(Figures, a_bar_shows_a_small_part_and_never_overflows) {
  EXPECT_EQ(format_bar(0, 10, 4), "....");
  EXPECT_EQ(format_bar(5, 10, 4), "##..");
  EXPECT_EQ(format_bar(1e-9, 10, 4), "#...");
  EXPECT_EQ(format_bar(20, 10, 4), "####");
  EXPECT_EQ(format_bar(1, 0, 4), "#...");
  EXPECT_EQ(format_bar(1, 2, 0), "");
}

TEST(Table, columns_line_up_whatever_the_width_of_characters) {
  Table table({{"name"}, {"bytes", Align::right}, {"by"}});
  table.add_row({"\xE6\x8D\x9F", "1", "a"});
  table.add_row({"weights", "1,024"});
  table.add_rule();
  table.add_row({"sum", "1,025", "b"});
  EXPECT_EQ(table.to_string("  "),
            "  name     bytes  by\n"
            "  ------------------\n"
            "  \xE6\x8D\x9F           1  a\n"
            "  weights  1,024\n"
            "  ------------------\n"
            "  sum      1,025  b\n");
}

TEST(Table, without_titles_it_has_no_head) {
  Table table({{""}, {""}});
  table.add_row({"a", "b"});
  EXPECT_EQ(table.to_string(), "a  b\n");
  EXPECT_THROW(table.add_row({"1", "2", "3"}), CheckFailed);
}

}  // namespace
}  // namespace cairn
