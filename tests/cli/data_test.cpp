// cairn data: the ids of a text, a row of a recipe, and pre-training on plain text from end to end.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "cli/small_program.h"

namespace cairn::test {
namespace {

nlohmann::json json_of(const Outcome& outcome) {
  return nlohmann::json::parse(outcome.output.substr(outcome.output.find('{')));
}

TEST_F(Program, data_prints_the_ids_of_a_text_without_adding_any) {
  write_file(folder_ / "text.txt", "hello<|im_end|>");
  const Outcome plain = cairn("data --model model --text text.txt");
  EXPECT_EQ(plain.exit_code, 0) << plain.output;
  EXPECT_EQ(plain.output, "259 266\n");
  const nlohmann::json json = json_of(cairn("data --model model --text text.txt --json"));
  EXPECT_EQ(json["ids"], (nlohmann::json{259, 266}));
  EXPECT_EQ(json["vocab_size"], kVocab - 1);
  expect_refused("data --text text.txt", 2, "--model");
  expect_refused("data --model model --text gone.txt", 2, "gone.txt");
  expect_refused("data", 2, "give a recipe");
}

TEST_F(Program, data_prints_a_row_with_what_trains_in_it) {
  const Outcome plain = cairn("data recipe.yaml --row 3");
  EXPECT_EQ(plain.exit_code, 0) << plain.output;
  EXPECT_NE(plain.output.find("row 3 of 20"), std::string::npos) << plain.output;
  EXPECT_NE(plain.output.find("-- trained"), std::string::npos) << plain.output;
  EXPECT_EQ(plain.output.find('\x1b'), std::string::npos) << "no colours but on a terminal";
  const nlohmann::json json = json_of(cairn("data recipe.yaml --row 3 --json"));
  ASSERT_EQ(json["ids"].size(), json["labels"].size());
  ASSERT_EQ(json["spans"].size(), 2u);
  for (size_t t = 0; t < json["ids"].size(); ++t) {
    const bool trained = t >= json["spans"][1]["begin"].get<size_t>();
    EXPECT_EQ(json["labels"][t], trained ? json["ids"][t] : nlohmann::json(-100));
  }
  EXPECT_EQ(json["rows"], 20);
  EXPECT_EQ(json["validation_rows"], 4);
  expect_refused("data recipe.yaml --row 20", 2, "rows 0 to 19");
}

TEST_F(Program, data_beside_a_recipe_is_found_whatever_its_folder_is_called) {
  fs::create_directories(folder_ / "a, b/rows");
  write_file(folder_ / "a, b/rows/one.jsonl", R"({"instruction":"q","output":"r"})");
  write_file(folder_ / "a, b/two.jsonl", R"({"instruction":"q","output":"r"})");
  fs::rename(folder_ / "recipe.yaml", folder_ / "a, b/recipe.yaml");
  for (const char* name : {"rows", "two.jsonl"}) {
    const Outcome outcome =
        cairn("data 'a, b/recipe.yaml' val_size=0 --json dataset=" + std::string(name));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(json_of(outcome)["rows"], 1) << outcome.output;
  }
}

TEST_F(Program, plain_texts_train_in_blocks_and_measure_what_was_predicted) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "hello hello say " + std::string(1 + i % 7, 'a') + "\n";
  write_file(folder_ / "plain.txt", text);
  const std::string keys =
      " stage=pt dataset=plain.txt template=null cutoff_len=32 val_size=0 num_train_epochs=1";
  const Outcome outcome = cairn("train recipe.yaml" + keys);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json ledger = read("out/ledger.json");
  EXPECT_EQ(ledger["predicted"], ledger["measured"]);
  const nlohmann::json row = json_of(cairn("data recipe.yaml --json" + keys));
  EXPECT_EQ(row["ids"].size(), 32u);
  for (size_t t = 0; t < row["ids"].size(); ++t)
    EXPECT_EQ(row["labels"][t] == -100, row["ids"][t] == 266)
        << "all of a text trains but the token that stands for padding, here its end";
  const nlohmann::json one = json_of(cairn("data recipe.yaml --json packing=false" + keys));
  EXPECT_EQ(one["rows"], 60);
  expect_refused("train recipe.yaml neat_packing=true" + keys, 2, "neat_packing");
  expect_refused("train recipe.yaml" + keys + " cutoff_len=4096", 2, "less than one block");
}

TEST_F(Program, tool_calls_and_several_data_sets_measure_what_was_predicted) {
  write_file(
      folder_ / "calls.jsonl",
      R"({"conversations": [{"from": "human", "value": "say aa"},)"
      R"({"from": "function_call", "value": "{\"name\": \"f\", \"arguments\": {\"x\": 1}}"},)"
      R"({"from": "observation", "value": "aa"}, {"from": "gpt", "value": "hello"}],)"
      R"("tools": "[{\"name\": \"f\", \"description\": \"d\", \"parameters\": {\"properties\": {}}}]"})"
      "\n");
  const Outcome outcome = cairn(
      "train recipe.yaml dataset=rows.json,calls.jsonl mix_strategy=interleave_over max_steps=3 "
      "template=qwen3_nothink tokenized_path=tokens");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(read("out/ledger.json")["predicted"], read("out/ledger.json")["measured"]);
  EXPECT_TRUE(exists("tokens/train.tokens"));
  EXPECT_TRUE(exists("tokens/validation.tokens"));
  const Outcome again =
      cairn("train recipe.yaml dataset=gone.json max_steps=1 tokenized_path=tokens");
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_NE(again.output.find("holds tokens already"), std::string::npos) << again.output;
}

TEST_F(Program, data_that_is_damaged_or_of_another_kind_has_its_exit_code) {
  const auto refused = [&](const std::string& name, const std::string& contents, int code,
                           const std::string& words) {
    write_file(folder_ / name, contents);
    expect_refused("train recipe.yaml dataset=" + name, code, words);
  };
  refused("torn.jsonl", "{\"instruction\":\"q\",\"output\":\"r\"}\n{\"instruction\":\"q\",", 4,
          "torn.jsonl, line 2, column");
  refused("comma.json", "[{\"instruction\":\"q\",\"output\":\"r\"} {\"a\":1}]", 4, "line 1");
  refused("lines.jsonl", "7\n", 2, "a record should be an object");
  refused("rows.parquet", "PAR1", 2, "read_parquet");
  refused("rows.arrow", "ARROW1", 2, "read_feather");
  refused("packed.jsonl", "\x1F\x8B packed", 2, "gzip");
  refused("pointer.json", "version https://git-lfs.github.com/spec/v1\n", 4, "Git LFS pointer");
  refused("empty.jsonl", "\n \n", 2, "no record");
  refused("short.csv", "instruction,output\nq\n", 4, "short.csv, line 2");
  refused("other.jsonl", "{\"question\":\"q\"}\n", 2, "`question`");
}

TEST_F(Program, a_vocabulary_that_is_damaged_or_not_built_has_its_exit_code) {
  write_file(folder_ / "text.txt", "hello");
  const auto refused = [&](const nlohmann::json& change, int code, const std::string& words) {
    nlohmann::json description = small_tokenizer_json();
    description.merge_patch(change);
    fs::create_directories(folder_ / "other");
    write_file(folder_ / "other/tokenizer.json", description.dump());
    expect_refused("data --model other --text text.txt", code, words);
  };
  refused({{"pre_tokenizer", {{"type", "Novel"}}}}, 2, "\"Novel\"");
  refused({{"normalizer", {{"type", "Novel"}}}}, 2, "\"Novel\"");
  refused({{"decoder", {{"type", "Novel"}}}}, 2, "\"Novel\"");
  refused({{"model", {{"type", "Unigram"}}}}, 2, "\"Unigram\"");
  refused({{"model", {{"merges", {"q z"}}}}}, 4, "`vocab` lacks \"qz\"");
  refused({{"model", {{"merges", {"a b c"}}}}}, 4, "one space");
  refused({{"model", {{"vocab", "text"}}}}, 4, "`vocab`");
  write_file(folder_ / "other/tokenizer.json", "{\"version\": ");
  expect_refused("data --model other --text text.txt", 4, "tokenizer.json");
  write_file(folder_ / "other/tokenizer.json", "version https://git-lfs.github.com/spec/v1\n");
  expect_refused("data --model other --text text.txt", 4, "LFS");
}

// 16 MiB of text become 128 MiB of tokens; the process holds neither.
TEST_F(Program, text_and_tokens_pass_through_memory_a_row_at_a_time) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is larger than the bound";
#endif
  {
    std::ofstream rows(folder_ / "large.jsonl");
    const std::string text(2048, 'x');
    for (int i = 0; i < 8192; ++i)
      rows << R"({"instruction":"q","output":")" << i << text << "\"}\n";
  }
  const Outcome outcome = cairn("data recipe.yaml dataset=large.jsonl cutoff_len=4096 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_GT(fs::file_size(fs::directory_iterator(folder_ / "cache/tokens")->path()), 100u << 20);
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  EXPECT_LT(used.ru_maxrss, 64 << 10) << "KiB";
}

// A vocabulary with more ids than the model embeds is found before a weight is read.
TEST_F(Program, ids_above_the_model_are_found_before_training) {
  nlohmann::json description = small_tokenizer_json();
  description["added_tokens"].push_back({{"id", kVocab}, {"content", "<new>"}});
  write_file(folder_ / "model/tokenizer.json", description.dump());
  expect_refused("train recipe.yaml", 2, "ids up to 272");
}

}  // namespace
}  // namespace cairn::test
