// From names of data sets to examples: choosing, splitting, joining, caching, and the account of
// it.
#include "data/tokenized_data.h"

#include <cstdlib>

#include "unit/data/data_folder.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

class TokenizedDataTest : public DataFolder {
 protected:
  TokenizedDataTest() {
    if (const char* before = std::getenv("CAIRN_CACHE")) before_ = before;
    setenv("CAIRN_CACHE", (folder_ / "cache").c_str(), 1);
  }
  ~TokenizedDataTest() override {
    before_.empty() ? unsetenv("CAIRN_CACHE") : setenv("CAIRN_CACHE", before_.c_str(), 1);
  }

  TokenizedData make(DataOptions options, const char* name = "empty") const {
    options.dataset_dir = folder_;
    return tokenize_data(options, ChatTemplate::named(name), tokenizer_, "small");
  }
  static std::vector<Ids> ids_of(const ExampleSet& examples) {
    std::vector<Ids> ids;
    for (int64_t i = 0; i < examples.size(); ++i) ids.push_back(examples.read(i).ids);
    return ids;
  }
  // Rows "q" and r0, r1, ...
  void write_rows(const std::string& name, int count, const char* prompt = "q") const {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += fmt::format("{{\"instruction\":\"{}\",\"output\":\"r{}\"}}\n", prompt, i);
    write(name, lines);
  }
  size_t cached() const {
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/tokens"))
      files += entry.path().extension() == ".tokens";
    return files;
  }

  Tokenizer tokenizer_ = small_tokenizer();
  std::string before_;
};

TEST_F(TokenizedDataTest, data_sets_are_joined_in_order_and_cached_by_content) {
  write_rows("a.jsonl", 2);
  write_rows("b.jsonl", 1, "x");
  const TokenizedData data = make({.names = {"a.jsonl", "b.jsonl"}});
  EXPECT_EQ(ids_of(data.train),
            (std::vector<Ids>{{'q', 'r', '0'}, {'q', 'r', '1'}, {'x', 'r', '0'}}));
  EXPECT_EQ(data.train.size_of(0).tokens, 3);
  EXPECT_EQ(data.train.size_of(0).trained_labels, 2);
  EXPECT_EQ(cached(), 2u);
  EXPECT_EQ(ids_of(make({.names = {"b.jsonl", "a.jsonl"}}).train)[0], (Ids{'x', 'r', '0'}));
  EXPECT_EQ(cached(), 2u) << "the same files in another order are not tokenised again";
  make({.names = {"a.jsonl"}}, "chatml");
  EXPECT_EQ(cached(), 3u) << "another template is another meaning";
  write_rows("a.jsonl", 3);
  EXPECT_EQ(make({.names = {"a.jsonl"}}).train.size(), 3);
  EXPECT_EQ(cached(), 4u) << "changed contents are";
}

TEST_F(TokenizedDataTest, rows_that_train_nothing_are_dropped_and_counted) {
  write("a.json", R"([{"instruction":"q","output":"r"}, {"instruction":"q","output":""},
                      {"instruction":"","output":"r"}, {"instruction":"qqqq","output":"rrrr"},
                      {"instruction":"q"}])");
  const TokenizedData data = make({.names = {"a.json"}, .encode = {.cutoff_len = 4}});
  EXPECT_EQ(ids_of(data.train), (std::vector<Ids>{{'q', 'r'}, {'q', 'q', 'r', 'r'}}));
  EXPECT_EQ(data.without_label, 2);
  EXPECT_EQ(data.truncated, 1);
  ASSERT_EQ(data.counts.size(), 1u);
  EXPECT_EQ(data.counts[0].records, 5);
  EXPECT_EQ(data.counts[0].used, 4);
  write("b.json", R"([{"instruction":"q","output":""}])");
  expect_says(message_of<UserError>([&] { make({.names = {"b.json"}}); }), "none of the 1 rows");
  EXPECT_THROW(make({.names = {"a.json"}, .encode = {.cutoff_len = 1}}), UserError);
  EXPECT_THROW(make({.names = {"a.json"}, .encode = {.train_on_prompt = true}}, "gemma2"),
               UserError);
}

TEST_F(TokenizedDataTest, calls_that_a_template_cannot_write_are_skipped_with_the_reason) {
  write("a.json", R"([{"conversations": [{"from": "human", "value": "q"},
                        {"from": "function_call", "value": "not JSON"}]},
                      {"conversations": [{"from": "human", "value": "q"},
                        {"from": "gpt", "value": "r"}], "tools": "neither"},
                      {"conversations": [{"from": "human", "value": "q"},
                        {"from": "gpt", "value": "r"}]}])");
  const TokenizedData data = make({.names = {"a.json"}});
  EXPECT_EQ(data.train.size(), 1);
  EXPECT_EQ(data.counts[0].skipped,
            (std::map<std::string, int64_t>{{"a function call that is not JSON", 1},
                                            {"its tools are no JSON list", 1}}));
}

TEST_F(TokenizedDataTest, validation_is_split_off_or_another_data_set) {
  write_rows("a.jsonl", 10);
  write_rows("b.jsonl", 2, "x");
  const TokenizedData split = make({.names = {"a.jsonl"}, .val_size = 0.3});
  EXPECT_EQ(split.train.size(), 7);
  EXPECT_EQ(split.validation.size(), 3);
  const TokenizedData other = make({.names = {"a.jsonl"}, .eval_names = {"b.jsonl"}});
  EXPECT_EQ(other.train.size(), 10);
  EXPECT_EQ(ids_of(other.validation)[0][0], 'x');
}

TEST_F(TokenizedDataTest, shares_of_the_training_sets_go_with_one_to_evaluate_on) {
  for (const char* name : {"a.jsonl", "b.jsonl", "c.jsonl"}) write_rows(name, 3);
  const DataOptions options = {.names = {"a.jsonl", "b.jsonl"},
                               .eval_names = {"c.jsonl"},
                               .mix = MixStrategy::interleave_over,
                               .interleave_probs = {0.5, 0.5}};
  EXPECT_EQ(make(options).validation.size(), 3) << "one alone is not mixed";
  DataOptions three = options;
  three.eval_names = {"a.jsonl", "b.jsonl", "c.jsonl"};
  expect_says(message_of<UserError>([&] { make(three); }), "2 shares for 3 data sets");
}

TEST_F(TokenizedDataTest, a_row_of_values_without_an_answer_is_skipped) {
  write("a.csv", "instruction,output\nq,r\nq,\n");
  const TokenizedData data = make({.names = {"a.csv"}});
  EXPECT_EQ(data.train.size(), 1);
  EXPECT_EQ(data.counts[0].skipped, (std::map<std::string, int64_t>{{"no text in `output`", 1}}));
}

TEST_F(TokenizedDataTest, keys_of_an_entry_that_nobody_reads_are_named) {
  write_rows("a.jsonl", 1);
  write("dataset_info.json", R"({"a": {"file_name": "a.jsonl", "formating": "alpaca",
      "columns": {"prompt": "instruction", "response": "output", "sistem": "x"}, "split": "test"}})");
  const TokenizedData data = make({.names = {"a"}});
  ASSERT_EQ(data.notes.size(), 3u);
  expect_says(data.notes[0], "`formating`");
  expect_says(data.notes[0], "`formatting`");
  expect_says(data.notes[1], "`sistem`");
  expect_says(data.notes[2], "`split`");
}

TEST_F(TokenizedDataTest, texts_shorter_than_a_block_are_refused_with_what_to_do) {
  write("t.txt", std::string(400, 'x') + "\n");
  const auto options = [](int64_t cutoff_len) {
    return DataOptions{
        .names = {"t.txt"}, .use = RowUse::document, .encode = {.cutoff_len = cutoff_len}};
  };
  expect_says(message_of<UserError>([&] { make(options(512)); }), "401 tokens");
  EXPECT_EQ(make(options(401)).train.size(), 1);
  EXPECT_EQ(make(options(100)).train.size(), 4) << "the rest is dropped";
  const Example block = make(options(100)).train.read(0);
  EXPECT_EQ(block.labels, block.ids);
}

TEST_F(TokenizedDataTest, a_tokenized_folder_is_read_whatever_the_options_say) {
  write_rows("a.jsonl", 4);
  const std::string folder = (folder_ / "tokens").string();
  const TokenizedData data = make({.names = {"a.jsonl"}, .val_size = 1});
  EXPECT_FALSE(has_tokenized(folder));
  save_tokenized(data, folder, "small");
  ASSERT_TRUE(has_tokenized(folder));
  const TokenizedData again = load_tokenized(folder, "small", tokenizer_.vocab_size());
  EXPECT_EQ(ids_of(again.train), ids_of(data.train));
  EXPECT_EQ(ids_of(again.validation), ids_of(data.validation));
  expect_says(message_of<UserError>([&] { load_tokenized(folder, "other", 300); }),
              "another tokenizer");
  write("arrow/dataset_dict.json", "{}");
  expect_says(message_of<UserError>([&] { has_tokenized((folder_ / "arrow").string()); }),
              "datasets library");
}

}  // namespace
}  // namespace cairn::test
