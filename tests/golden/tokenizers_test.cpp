// Tokenizers against the Hugging Face library: every kind of step, flag and model that is built, on
// texts that bring out their corners (tools/make_goldens/make_tokenizers.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "data/tokenizer.h"

namespace cairn {
namespace {

using nlohmann::json;

json read_json(const std::string& name) {
  std::ifstream file(std::string(CAIRN_SOURCE_DIR) + "/tests/golden/data/" + name);
  return json::parse(file);
}

// Members of `model` are replaced one by one, others whole; null is a value.
json patched(json description, const json& patch) {
  for (const auto& [key, value] : patch.items()) {
    if (key == "model")
      for (const auto& [member, inner] : value.items()) description["model"][member] = inner;
    else
      description[key] = value;
  }
  return description;
}

TEST(TokenizerGolden, every_variant_encodes_and_decodes_as_the_hugging_face_library) {
  const json golden = read_json("tokenizers.json");
  ASSERT_GE(golden["variants"].size(), 40u);
  for (const json& variant : golden["variants"]) {
    const json base = read_json("chat/" + variant["base"].get<std::string>() + "_tokenizer.json");
    const Tokenizer tokenizer = Tokenizer::from_json(patched(base, variant["patch"]), nullptr);
    for (size_t i = 0; i < golden["texts"].size(); ++i) {
      const std::string text = golden["texts"][i];
      const auto ids = variant["ids"][i].get<std::vector<int32_t>>();
      EXPECT_EQ(tokenizer.encode(text), ids)
          << variant["base"] << ", " << variant["title"] << ": " << text;
      EXPECT_EQ(tokenizer.decode(ids, false), variant["decoded"][i].get<std::string>())
          << variant["base"] << ", " << variant["title"] << ": " << text;
    }
  }
}

}  // namespace
}  // namespace cairn
