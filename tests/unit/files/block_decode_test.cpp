// Block formats against values computed from their definition (payload byte i = (73 i + 41) mod
// 256).
#include "files/block_decode.h"

#include <gtest/gtest.h>

#include <limits>

#include "file_builders.h"

namespace cairn::test {
namespace {

constexpr uint16_t kOne = 0x3c00, kHalf = 0x3800;  // f16

std::string payload(size_t bytes) {
  std::string data;
  for (size_t n = 0; n < bytes; ++n) data += static_cast<char>((73 * n + 41) % 256);
  return data;
}

std::vector<float> decode(FileType type, const std::string& block) {
  std::vector<float> values(static_cast<size_t>(block_elements(type)));
  decode_blocks(type, reinterpret_cast<const std::byte*>(block.data()), block_elements(type),
                values.data());
  return values;
}

struct Expected {
  float first[3];
  double sum, weighted_sum;
};

void expect_block(FileType type, const std::string& block, const Expected& expected) {
  ASSERT_EQ(static_cast<int64_t>(block.size()), block_bytes(type));
  const std::vector<float> values = decode(type, block);
  double sum = 0, weighted = 0;
  for (size_t n = 0; n < values.size(); ++n) {
    sum += values[n];
    weighted += static_cast<double>(n + 1) * values[n];
  }
  for (size_t n = 0; n < 3; ++n) EXPECT_EQ(values[n], expected.first[n]) << n;
  EXPECT_EQ(sum, expected.sum);
  EXPECT_EQ(weighted, expected.weighted_sum);
}

TEST(BlockDecode, q4_1_is_quant_times_scale_plus_minimum) {
  expect_block(FileType::q4_1, bytes_of(kOne) + bytes_of(kHalf) + payload(16),
               {{9.5f, 2.5f, 11.5f}, 237, 3756});
}

TEST(BlockDecode, q8_0_is_signed_quant_times_scale) {
  expect_block(FileType::q8_0, bytes_of(kHalf) + payload(32), {{20.5f, 57.f, -34.5f}, 72, 408});
}

TEST(BlockDecode, centred_codes_have_no_minimum) {
  expect_block(FileType::q4_0, bytes_of(kOne) + payload(16), {{1, -6, 3}, -35, -732});
  expect_block(FileType::q5_0, bytes_of(kOne) + payload(20), {{13, -10, -1}, -63, -1590});
}

TEST(BlockDecode, q5_1_has_a_fifth_bit_and_a_minimum) {
  expect_block(FileType::q5_1, bytes_of(kOne) + bytes_of(kHalf) + payload(20),
               {{29.5f, 6.5f, 15.5f}, 465, 7122});
}

TEST(BlockDecode, k_quants_scale_each_part_of_a_super_block) {
  const std::string scales = bytes_of(kOne) + bytes_of(kHalf);
  expect_block(FileType::q4_k, scales + payload(140), {{198.5f, 567.5f, 280.5f}, 51256, 5214672});
  expect_block(FileType::q5_k, scales + payload(172), {{854.5f, 567.5f, 936.5f}, 110600, 10977536});
  expect_block(FileType::q6_k, payload(208) + bytes_of(kHalf),
               {{80.5f, -23.f, -310.5f}, -7422, -814064});
}

TEST(BlockDecode, f16_widens_exactly_for_all_bit_patterns) {
  std::vector<uint16_t> halves(65536);
  for (size_t n = 0; n < halves.size(); ++n) halves[n] = static_cast<uint16_t>(n);
  std::vector<float> values(halves.size());
  decode_blocks(FileType::f16, reinterpret_cast<const std::byte*>(halves.data()), 65536,
                values.data());
  for (size_t n = 0; n < halves.size(); ++n)
    ASSERT_EQ(std::bit_cast<uint32_t>(values[n]), std::bit_cast<uint32_t>(f16_to_float(halves[n])))
        << n;
}

TEST(BlockDecode, f32_narrows_as_the_scalar_rule_does) {
  std::vector<uint32_t> words;
  for (uint32_t high = 0; high < 65536; high += 7)
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      words.push_back(high << 16 | low);
  std::vector<bf16> values(words.size());
  decode_blocks(FileType::f32, reinterpret_cast<const std::byte*>(words.data()),
                static_cast<int64_t>(words.size()), values.data());
  for (size_t n = 0; n < words.size(); ++n)
    ASSERT_EQ(values[n].bits, to_bf16(std::bit_cast<float>(words[n])).bits) << std::hex << words[n];
}

TEST(BlockDecode, ragged_ends_are_whole_to_the_last_element) {
  for (int64_t count : {1, 31, 32, 33, 65}) {
    const std::string data = floats(count);
    std::vector<float> values(static_cast<size_t>(count) + 1, -1.f);
    decode_blocks(FileType::f32, reinterpret_cast<const std::byte*>(data.data()), count,
                  values.data());
    for (int64_t n = 0; n < count; ++n)
      EXPECT_EQ(values[static_cast<size_t>(n)], static_cast<float>(n));
    EXPECT_EQ(values.back(), -1.f) << "wrote past the end";
  }
}

}  // namespace
}  // namespace cairn::test
