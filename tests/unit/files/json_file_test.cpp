// Numbers of JSON that are read as integers of 64 bits, or refused.
#include "files/json_file.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

using nlohmann::json;

TEST(JsonFile, an_integer_is_one_of_64_bits_or_refused) {
  EXPECT_EQ(integer_of(json::parse("-9223372036854775808")), INT64_MIN);
  EXPECT_EQ(integer_of(json::parse("9223372036854775807")), INT64_MAX);
  for (const char* text : {"9223372036854775808", "88888888888888888888888888888888888888888882",
                           "1.0", "1e3", "\"1\"", "null", "true", "[1]"})
    EXPECT_THROW(integer_of(json::parse(text)), json::exception) << text;
}

}  // namespace
}  // namespace cairn
