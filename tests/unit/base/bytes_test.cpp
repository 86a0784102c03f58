// Amounts of memory as people write and read them.
#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cairn {
namespace {

TEST(Bytes, gib_is_binary_gb_is_decimal_and_a_bare_g_means_gib) {
  EXPECT_EQ(parse_bytes("24GiB"), 24 * kGiB);
  EXPECT_EQ(parse_bytes("24GB"), 24'000'000'000);
  EXPECT_EQ(parse_bytes("24G"), 24 * kGiB);
  EXPECT_EQ(parse_bytes("800MiB"), 800 * kMiB);
  EXPECT_EQ(parse_bytes("800mb"), 800'000'000);
  EXPECT_EQ(parse_bytes("64k"), 64 * kKiB);
  EXPECT_EQ(parse_bytes("1T"), 1024 * kGiB);
}

TEST(Bytes, fractions_spaces_and_bare_numbers_are_read) {
  EXPECT_EQ(parse_bytes("1.5 GiB"), kGiB + kGiB / 2);
  EXPECT_EQ(parse_bytes("1048576"), kMiB);
  EXPECT_EQ(parse_bytes("512 B"), 512);
}

TEST(Bytes, what_is_no_amount_is_refused_with_what_was_expected) {
  for (const char* text :
       {"", "GiB", "12 parsecs", "-3GiB", "0", "nan", "inf", "1e30GiB", "3GiBx"}) {
    try {
      parse_bytes(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("24GiB"), std::string::npos) << error.what();
    }
  }
}

TEST(Bytes, amounts_are_written_for_people) {
  EXPECT_EQ(format_bytes(640), "640 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(12 * kMiB), "12.0 MiB");
  EXPECT_EQ(format_bytes(kGiB + kGiB / 2), "1.50 GiB");
  EXPECT_EQ(format_bytes(-kMiB), "-1.0 MiB");
}

TEST(Bytes, rounding_goes_up) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(ceil_div(65, 64), 2);
}

}  // namespace
}  // namespace cairn
