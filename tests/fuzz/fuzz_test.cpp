// Every target over its seeds and a thousand mutations of them, the same in every run. What
// libFuzzer finds becomes a seed, so that it is never found again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz/targets.h"

namespace cairn::fuzz {
namespace {

namespace fs = std::filesystem;

// Mutations of all seeds of a target together. More of them, and others, by CAIRN_FUZZ_ROUNDS.
int rounds() {
  const char* asked = std::getenv("CAIRN_FUZZ_ROUNDS");
  return asked ? std::atoi(asked) : 1000;
}

std::vector<std::string> seeds_of(const Target& target) {
  std::vector<fs::path> paths;
  const fs::path folder = fs::path(CAIRN_SOURCE_DIR) / "tests/fuzz/seeds" / target.name;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// Bytes and words that lengths, types and nesting trip over.
std::string mutated(std::string text, const std::string& other, std::mt19937& random) {
  static const std::string kPieces[] = {"\xff\xff\xff\xff\xff\xff\xff\x7f",
                                        std::string(8, '\0'),
                                        "\"",
                                        "{",
                                        "[",
                                        "[[[[[[[[[[",
                                        "}",
                                        "]",
                                        ",",
                                        ":",
                                        "null",
                                        "-1",
                                        "1e999",
                                        "18446744073709551615",
                                        "\xed\xa0\x80",
                                        "\xef\xbb\xbf",
                                        "true",
                                        "\n",
                                        "\r",
                                        "\t",
                                        "&a",
                                        "*a",
                                        "!"};
  const auto at = [&](size_t size) { return size == 0 ? 0 : random() % size; };
  for (uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
    const size_t place = at(text.size() + 1);
    switch (random() % 6) {
      case 0:
        if (place < text.size()) text[place] = static_cast<char>(random());
        break;
      case 1:
        text.insert(place, kPieces[random() % std::size(kPieces)]);
        break;
      case 2:
        text.erase(place, at(text.size() - place + 1));
        break;
      case 3:
        text.insert(place, text.substr(at(text.size() + 1), at(40)));
        break;
      case 4:
        text = text.substr(0, place) + other.substr(at(other.size() + 1));
        break;
      default: {
        const std::string& piece = kPieces[random() % std::size(kPieces)];
        text.replace(place, std::min(piece.size(), text.size() - place), piece);
      }
    }
  }
  return text;
}

void expect_answered(const Target& target, const std::string& input, const std::string& what) {
  try {
    run(target, input);
  } catch (const std::exception& error) {
    ADD_FAILURE() << target.name << ", " << what << ": " << error.what() << "\nfor the input:\n"
                  << testing::PrintToString(input);
  }
}

class Readers : public ::testing::TestWithParam<size_t> {};

TEST_P(Readers, read_or_refuse_every_seed_and_its_mutations) {
  const Target& target = targets()[GetParam()];
  const std::vector<std::string> seeds = seeds_of(target);
  ASSERT_FALSE(seeds.empty()) << target.name << " has no seeds";
  for (size_t i = 0; i < seeds.size(); ++i)
    expect_answered(target, seeds[i], "seed " + std::to_string(i));
  std::mt19937 random(static_cast<uint32_t>(GetParam()) + 1);
  const int last = rounds();
  for (int round = 0; round < last && !HasFailure(); ++round)
    expect_answered(target,
                    mutated(seeds[random() % seeds.size()], seeds[random() % seeds.size()], random),
                    "round " + std::to_string(round));
}

INSTANTIATE_TEST_SUITE_P(fuzz, Readers, ::testing::Range(size_t{0}, targets().size()),
                         [](const auto& target) {
                           return std::string(targets()[target.param].name);
                         });

// The first seed of each target is a file that its reader takes.
TEST(Seeds, the_first_of_each_target_is_read) {
  for (const Target& target : targets()) {
    const std::vector<std::string> seeds = seeds_of(target);
    ASSERT_FALSE(seeds.empty()) << target.name;
    EXPECT_NO_THROW(target.read(seeds.front())) << target.name;
  }
}

}  // namespace
}  // namespace cairn::fuzz
