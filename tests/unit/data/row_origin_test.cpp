// A row keeps the number it had in its file, whatever is left out, chosen, split off or tokenised.
#include "data/dataset.h"
#include "unit/data/data_folder.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

class RowOrigins : public DataFolder {};

TEST_F(RowOrigins, are_records_of_data_sets_from_1) {
  write("a.json", R"([{"instruction":"one","output":"x"}, {"instruction":"two"},
                      {"instruction":"three","output":"x"}])");
  write("b.json", R"([{"instruction":"four","output":"x"}])");
  const auto rows = load_rows({.names = "a.json,b.json", .dataset_dir = folder_}).rows;
  ASSERT_EQ(rows.size(), 3u) << "a row without an answer is left out";
  const std::pair<int, int> wanted[] = {{0, 1}, {0, 3}, {1, 1}};
  const auto tokenized =
      tokenize(rows, ChatTemplate::named("chatml"), small_tokenizer(), {.cutoff_len = 64});
  ASSERT_EQ(tokenized.examples.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].origin.dataset, wanted[i].first);
    EXPECT_EQ(rows[i].origin.record, wanted[i].second);
    EXPECT_EQ(tokenized.examples[i].origin.dataset, wanted[i].first);
    EXPECT_EQ(tokenized.examples[i].origin.record, wanted[i].second);
  }
}

TEST_F(RowOrigins, survive_a_choice_and_a_split) {
  json rows = json::array();
  for (int i = 1; i <= 20; ++i)
    rows.push_back({{"instruction", std::to_string(i)}, {"output", "x"}});
  write("a.json", rows.dump());
  write("dataset_info.json", R"({"a": {"file_name": "a.json", "num_samples": 30}})");
  const Split split =
      split_validation(load_rows({.names = "a", .dataset_dir = folder_}).rows, 5, 3);
  EXPECT_EQ(split.train.size() + split.validation.size(), 30u);
  for (const auto* side : {&split.train, &split.validation})
    for (const Conversation& row : *side)
      EXPECT_EQ(row.turns[0].content, std::to_string(row.origin.record));
}

}  // namespace
}  // namespace cairn::test
