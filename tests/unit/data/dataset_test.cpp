// Data sets: names to rows, columns to turns, and the account of every record.
#include "data/dataset.h"

#include <algorithm>
#include <utility>

#include "unit/data/data_folder.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

using Texts = std::vector<std::string>;

struct LoadedRows {
  std::vector<Conversation> rows;
  std::vector<DatasetCounts> counts;
  std::vector<std::string> notes;
};

class Dataset : public DataFolder {
 protected:
  void info(const json& entries) const { write("dataset_info.json", entries.dump()); }
  LoadedRows load(const Texts& names, std::optional<int64_t> max_samples = std::nullopt,
                  RowUse use = RowUse::conversation) const {
    LoadedRows loaded;
    for (const DatasetEntry& entry : find_datasets(names, folder_)) {
      RowReader reader(entry, use, entry.num_samples ? std::nullopt : max_samples);
      std::vector<Conversation> rows;
      while (auto row = reader.next()) rows.push_back(std::move(*row));
      DatasetCounts counts = reader.counts();
      for (const int64_t i : chosen_rows(counts, entry.num_samples, max_samples, 42, 0))
        loaded.rows.push_back(rows[static_cast<size_t>(i)]);
      EXPECT_EQ(counts.records, counts.used - counts.repeated + counts.skipped_total());
      loaded.counts.push_back(counts);
      loaded.notes.insert(loaded.notes.end(), entry.notes.begin(), entry.notes.end());
    }
    return loaded;
  }
  std::string refusal(const std::string& name) const {
    return message_of<UserError>([&] { load({name}); });
  }
  // Rows r0, r1, ... as lines.
  std::string rows(int count) const {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += fmt::format("{{\"instruction\":\"q{0}\",\"input\":\"\",\"output\":\"r{0}\"}}\n", i);
    return lines;
  }
  static std::vector<std::string> answers(const std::vector<Conversation>& conversations) {
    std::vector<std::string> texts;
    for (const Conversation& row : conversations) texts.push_back(row.turns.back().content);
    return texts;
  }
};

TEST_F(Dataset, alpaca_rows_join_instruction_and_input_with_one_line_feed) {
  write("a.json", R"([{"instruction":"I","input":"x","output":"O"},
                      {"instruction":"I","input":"","output":"O"},
                      {"instruction":"","input":"x","output":""},
                      {"instruction":"I","output":"O"},
                      {"instruction":null,"input":null,"output":"O"}])");
  const auto loaded = load({"a.json"});
  ASSERT_EQ(loaded.rows.size(), 5u);
  EXPECT_EQ(loaded.rows[0].turns,
            (std::vector<Turn>{{Role::user, "I\nx"}, {Role::assistant, "O"}}));
  EXPECT_EQ(loaded.rows[1].turns[0].content, "I");
  EXPECT_EQ(loaded.rows[2].turns[0].content, "x");
  EXPECT_EQ(loaded.rows[2].turns[1].content, "");
  EXPECT_EQ(loaded.rows[3].turns[0].content, "I");
  EXPECT_EQ(loaded.rows[4].turns[0].content, "");
}

TEST_F(Dataset, names_lead_through_dataset_info_in_the_order_listed) {
  write("one.jsonl", rows(2));
  write("folder/b.json", R"([{"instruction":"b","output":"B"}])");
  write("folder/a.json", R"([{"instruction":"a","output":"A"}])");
  info({{"one", {{"file_name", "one.jsonl"}}}, {"many", {{"file_name", "folder"}}}});
  const auto loaded = load({"many", "one"});
  EXPECT_EQ(answers(loaded.rows), (Texts{"A", "B", "r0", "r1"}));
  ASSERT_EQ(loaded.counts.size(), 2u);
  EXPECT_EQ(loaded.counts[0].name, "many");
  EXPECT_EQ(loaded.counts[1].used, 2);
}

TEST_F(Dataset, a_path_needs_no_dataset_info) {
  const auto path = write("one.jsonl", rows(3));
  EXPECT_EQ(load({path.string()}).rows.size(), 3u);
  EXPECT_EQ(load({"one.jsonl"}).rows.size(), 3u) << "below dataset_dir";
}

TEST_F(Dataset, columns_map_history_and_system_and_unlisted_ones_are_absent) {
  write("c.jsonl",
        R"({"q":"now","a":"yes","old":[["hi","hello"],["how","so"]],"sys":"S","input":"unused"})");
  info({{"c",
         {{"file_name", "c.jsonl"},
          {"columns",
           {{"prompt", "q"}, {"response", "a"}, {"history", "old"}, {"system", "sys"}}}}}});
  const auto loaded = load({"c"});
  ASSERT_EQ(loaded.rows.size(), 1u);
  EXPECT_EQ(loaded.rows[0].system, "S");
  EXPECT_EQ(loaded.rows[0].turns, (std::vector<Turn>{{Role::user, "hi"},
                                                     {Role::assistant, "hello"},
                                                     {Role::user, "how"},
                                                     {Role::assistant, "so"},
                                                     {Role::user, "now"},
                                                     {Role::assistant, "yes"}}));
}

TEST_F(Dataset, lists_of_messages_become_turns) {
  write(
      "m.jsonl",
      R"({"conversations":[{"from":"system","value":"S"},{"from":"human","value":"q"},{"from":"gpt","value":"a"}]}
{"conversations":[{"from":"human","value":"q"}]}
{"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"q"}]}
{"conversations":[]}
{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":null}]}
{"other":1}
)");
  write("o.json", R"([{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},
                                   {"role":"user","content":"r"},{"role":"assistant","content":"b"}]}])");
  info({{"m", {{"file_name", "m.jsonl"}, {"formatting", "sharegpt"}}},
        {"o",
         {{"file_name", "o.json"},
          {"formatting", "openai"},
          {"columns", {{"messages", "messages"}}},
          {"tags",
           {{"role_tag", "role"},
            {"content_tag", "content"},
            {"user_tag", "user"},
            {"assistant_tag", "assistant"}}}}}});
  const auto loaded = load({"m", "o"});
  ASSERT_EQ(loaded.rows.size(), 2u);
  EXPECT_EQ(loaded.rows[0].system, "S");
  EXPECT_EQ(loaded.rows[0].turns, (std::vector<Turn>{{Role::user, "q"}, {Role::assistant, "a"}}));
  EXPECT_EQ(answers(loaded.rows), (Texts{"a", "b"}));
  EXPECT_EQ(loaded.rows[1].turns.size(), 4u);
  EXPECT_EQ(loaded.counts[0].skipped_total(), 5);
}

TEST_F(Dataset, every_record_is_used_or_skipped_with_a_reason) {
  write("mixed.jsonl", R"({"instruction":"q","output":"a"}

{"instruction":"q","output":null}
{"instruction":"q","output":["a"]}
{"instruction":7,"output":"a"}
{"output":"a"}
"{\"instruction\":\"q\",\"output\":\"a\"}"
)");
  const DatasetCounts counts = load({"mixed.jsonl"}).counts.at(0);
  EXPECT_EQ(counts.records, 6);
  EXPECT_EQ(counts.used, 2);
  EXPECT_EQ(counts.blank_lines, 1);
  EXPECT_EQ(counts.string_encoded, 1);
  EXPECT_EQ(counts.skipped,
            (std::map<std::string, int64_t>{{"no text in `output`", 2},
                                            {"`instruction` is not a string", 1},
                                            {"no column `instruction` or `input`", 1}}));
}

TEST_F(Dataset, max_samples_takes_the_first_rows_of_each) {
  write("a.jsonl", rows(5));
  write("b.jsonl", rows(2));
  const auto loaded = load({"a.jsonl", "b.jsonl"}, 3);
  EXPECT_EQ(answers(loaded.rows), (Texts{"r0", "r1", "r2", "r0", "r1"}));
}

TEST_F(Dataset, num_samples_chooses_at_random_and_fills_up) {
  write("a.jsonl", rows(20));
  info({{"few", {{"file_name", "a.jsonl"}, {"num_samples", 5}}},
        {"many", {{"file_name", "a.jsonl"}, {"num_samples", 50}}}});
  const auto few = load({"few"}), many = load({"many"});
  ASSERT_EQ(few.rows.size(), 5u);
  Texts chosen = answers(few.rows);
  EXPECT_NE(chosen, (Texts{"r0", "r1", "r2", "r3", "r4"}));
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(std::unique(chosen.begin(), chosen.end()), chosen.end());
  EXPECT_EQ(few.counts[0].skipped_total(), 15);

  ASSERT_EQ(many.rows.size(), 50u);
  EXPECT_EQ(many.counts[0].repeated, 30);
  Texts first = answers(many.rows);
  first.resize(20);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end()) << "every row once, then repeats";
  EXPECT_EQ(load({"many"}, 10).counts[0].repeated, 0);
}

TEST_F(Dataset, what_cannot_be_is_refused_with_what_to_do) {
  write("a.jsonl", rows(1));
  write("empty.jsonl", "\n");
  write("t.parquet", "PAR1");
  write("w.jsonl", R"({"question":"q","answer":"a"})");
  info({{"alpaca", {{"file_name", "a.jsonl"}}},
        {"chat", {{"file_name", "a.jsonl"}, {"formatting", "parrot"}}},
        {"hub", {{"hf_hub_url", "someone/something"}}},
        {"gone", {{"file_name", "gone.json"}}},
        {"text", {{"file_name", "t.parquet"}}},
        {"rank", {{"file_name", "a.jsonl"}, {"ranking", true}}},
        {"image", {{"file_name", "a.jsonl"}, {"columns", {{"images", "i"}}}}},
        {"pretrain", {{"file_name", "a.jsonl"}, {"columns", {{"prompt", "output"}}}}}});
  expect_says(refusal("alpacca"), "alpaca");
  expect_says(refusal("chat"), "parrot");
  expect_says(refusal("hub"), "download");
  expect_says(refusal("gone"), "gone.json");
  expect_says(refusal("text"), "read_parquet(\"t.parquet\")");
  expect_says(refusal("rank"), "ranking");
  expect_says(refusal("image"), "images");
  expect_says(refusal("pretrain"), "response");
  expect_says(refusal("empty.jsonl"), "no record");
  expect_says(refusal("w.jsonl"), "`question`");
  expect_says(message_of<UserError>([&] { load({}); }), "no data set");
  expect_says(message_of<UserError>([] { find_datasets({"x"}, "/nowhere"); }), "dataset_info.json");
  expect_says(message_of<UserError>([] { find_datasets({"x"}, "REMOTE:a/b"); }), "REMOTE:a/b");
  write("dataset_info.json", "{\"a\": ");
  EXPECT_THROW(load({"a"}), DamagedFile);
}

TEST(DatasetOrder, validation_rows_are_split_off_by_the_seed) {
  const SplitRows split = split_validation(10, 0.25, 42);
  EXPECT_EQ(split.validation.size(), 3u) << "a fraction rounds up";
  EXPECT_EQ(split.train.size(), 7u);
  EXPECT_EQ(split_validation(10, 4, 42).validation.size(), 4u);
  EXPECT_EQ(split_validation(10, 0, 42).train.size(), 10u);
  EXPECT_EQ(split_validation(10, 0.25, 42).validation, split.validation);
  EXPECT_NE(split_validation(10, 5, 1).validation, split_validation(10, 5, 2).validation);
  std::vector<int64_t> both = split.train;
  both.insert(both.end(), split.validation.begin(), split.validation.end());
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_THROW(split_validation(10, 10, 42), UserError);
  EXPECT_THROW(split_validation(10, -1, 42), UserError);
  EXPECT_THROW(split_validation(10, 1.5, 42), UserError);
}

std::vector<std::pair<int, int>> mixed(MixStrategy strategy, std::vector<double> shares = {}) {
  std::vector<std::pair<int, int>> rows;
  for (const MixedRow& row : mixed_rows({1, 3}, strategy, shares, 7))
    rows.emplace_back(static_cast<int>(row.dataset), static_cast<int>(row.row));
  return rows;
}

// As the datasets library's interleave_datasets.
TEST(DatasetOrder, data_sets_follow_each_other_or_take_turns) {
  using Rows = std::vector<std::pair<int, int>>;
  EXPECT_EQ(mixed(MixStrategy::concat), (Rows{{0, 0}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(mixed(MixStrategy::interleave_under), (Rows{{0, 0}, {1, 0}}));
  EXPECT_EQ(mixed(MixStrategy::interleave_over),
            (Rows{{0, 0}, {1, 0}, {0, 0}, {1, 1}, {0, 0}, {1, 2}}));
  EXPECT_EQ(mixed(MixStrategy::interleave_once), (Rows{{0, 0}, {1, 0}, {1, 1}, {1, 2}}));
  const Rows drawn = mixed(MixStrategy::interleave_over, {0.5, 0.5});
  for (const auto& row : mixed(MixStrategy::concat))
    EXPECT_NE(std::find(drawn.begin(), drawn.end(), row), drawn.end()) << "all are through";
  EXPECT_EQ(mixed(MixStrategy::interleave_over, {0.5, 0.5}), drawn) << "seeded";
}

}  // namespace
}  // namespace cairn::test
