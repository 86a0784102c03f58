// The template that a prompt is written in where none is given, and the end of text that a full
// fine-tune saves for whoever answers with it.
#include "cli/small_program.h"

namespace cairn::test {
namespace {

const std::string kOneStep = "train recipe.yaml max_steps=1 ";

void expect_note(const Outcome& outcome, const std::string& words) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("note: " + words), std::string::npos) << outcome.output;
}

class GenerateProgram : public Program {
 protected:
  Outcome generate(const std::string& flags) const {
    return cairn("generate --prompt 'say aa' --max-new-tokens 2 " + flags);
  }
  void write_tokenizer_config(const nlohmann::json& config) const {
    write_file(folder_ / "model/tokenizer_config.json", config.dump());
  }
};

TEST_F(GenerateProgram, asks_in_the_template_that_the_adapter_was_trained_with) {
  ASSERT_EQ(cairn(kOneStep + "template=llama3 save_steps=1").exit_code, 0);
  const std::string trained = "template is not given: \"llama3\" is what ";
  for (const char* adapter : {"out", "out/", "out/checkpoint-1"})
    expect_note(generate("--model model --adapter " + std::string(adapter)),
                trained + fs::canonical(folder_ / "out/resolved_recipe.yaml").string());
  // The ids of the prompt are those of the template by name.
  const std::string logits = "--f32 --logits l --model model --adapter out 2>/dev/null";
  const Outcome ids = generate(logits);
  EXPECT_EQ(ids.output, generate("--template llama3 " + logits).output);
  EXPECT_NE(ids.output, generate("--template chatml " + logits).output);
  EXPECT_EQ(generate("--model model --adapter out --template chatml").output.find("note: "),
            std::string::npos);

  write_file(folder_ / "out/resolved_recipe.yaml", "lora_rnak: 8\n");
  expect_note(generate("--model model --adapter out"), "the recipe of the run is not used: ");
}

TEST_F(GenerateProgram, says_which_template_it_takes_for_a_model_without_a_run) {
  expect_note(generate("--model model"),
              "template is not given and the tokenizer has no chat template that is known");
  write_tokenizer_config({{"eos_token", "<|im_end|>"}, {"chat_template", "{{'<|im_start|>'}}"}});
  expect_note(generate("--model model"),
              "template is not given: \"chatml\" is the nearest to the tokenizer's own");
  expect_note(generate("--model model --template phi4"),
              "the tokenizer has no single token for <|im_sep|> of template 'phi4'");
}

// A base model that ends texts otherwise than the template ends answers.
TEST_F(GenerateProgram, a_full_fine_tune_saves_the_end_of_text_that_it_trained) {
  const int end = 266, base_end = 264;
  write_tokenizer_config({{"eos_token", "<|endoftext|>"}, {"pad_token", "[PAD]"}});
  write_file(folder_ / "model/generation_config.json", R"({"eos_token_id": 264})");
  const std::string full = kOneStep + "finetuning_type=full template=";
  ASSERT_EQ(cairn(full + "qwen").exit_code, 0);
  EXPECT_EQ(read("out/tokenizer_config.json")["eos_token"], "<|im_end|>");
  EXPECT_EQ(read("out/special_tokens_map.json")["eos_token"], "<|im_end|>");
  EXPECT_EQ(read("out/generation_config.json")["eos_token_id"], (nlohmann::json{end, base_end}));
  EXPECT_EQ(read("out/config.json")["eos_token_id"], end);
  expect_note(generate("--model out"), "template is not given: \"qwen\" is what ");
  // A template that ends answers as the base does leaves the files alone.
  ASSERT_EQ(cairn(full + "alpaca").exit_code, 0);
  EXPECT_EQ(read("out/tokenizer_config.json")["eos_token"], "<|endoftext|>");
  EXPECT_EQ(read("out/generation_config.json")["eos_token_id"], base_end);
  EXPECT_FALSE(read("out/config.json").contains("eos_token_id"));
}

}  // namespace
}  // namespace cairn::test
