// What a config.json may not say.
#include "model/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cairn::test {
namespace {

nlohmann::json small_config(int64_t layers) {
  return {{"hidden_size", 8},
          {"intermediate_size", 8},
          {"num_hidden_layers", layers},
          {"num_attention_heads", 2},
          {"vocab_size", 16}};
}

TEST(ModelConfig, more_layers_than_any_model_has_are_refused_with_the_bound) {
  EXPECT_EQ(parse_model_config(small_config(1024)).num_layers, 1024);
  try {
    parse_model_config(small_config(1025));
    ADD_FAILURE() << "1025 layers were taken";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'num_hidden_layers' is 1025"), std::string::npos) << text;
    EXPECT_NE(text.find("at most 1024"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace cairn::test
