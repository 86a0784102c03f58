// A row keeps the number it had in its file, whatever is left out, chosen, split off or tokenised.
#include "data/tokenized_data.h"
#include "unit/data/data_folder.h"
#include "unit/data/small_tokenizer.h"

namespace cairn::test {
namespace {

class RowOrigins : public DataFolder {
 protected:
  TokenizedData make(DataOptions options) const {
    options.dataset_dir = folder_;
    options.reads_cache = false;
    return tokenize_data(options, ChatTemplate::named("empty"), small_tokenizer(), "small");
  }
};

TEST_F(RowOrigins, are_records_of_data_sets_from_1) {
  write("a.json", R"([{"instruction":"one","output":"x"}, {"instruction":"two"},
                      {"instruction":"three","output":"x"}])");
  write("b.json", R"([{"instruction":"four","output":"x"}])");
  const TokenizedData data = make({.names = {"a.json", "b.json"}});
  ASSERT_EQ(data.train.size(), 3) << "a row without an answer is left out";
  const std::pair<int, int> wanted[] = {{0, 1}, {0, 3}, {1, 1}};
  for (int64_t i = 0; i < 3; ++i) {
    const RowOrigin origin = data.train.read(i).origin;
    EXPECT_EQ(origin.dataset, wanted[i].first);
    EXPECT_EQ(origin.record, wanted[i].second);
  }
}

TEST_F(RowOrigins, survive_a_choice_and_a_split) {
  json rows = json::array();
  for (int i = 1; i <= 20; ++i)
    rows.push_back({{"instruction", std::to_string(i)}, {"output", "x"}});
  write("a.json", rows.dump());
  write("dataset_info.json", R"({"a": {"file_name": "a.json", "num_samples": 30}})");
  const TokenizedData data = make({.names = {"a"}, .val_size = 5});
  EXPECT_EQ(data.train.size() + data.validation.size(), 30);
  for (const ExampleSet* side : {&data.train, &data.validation})
    for (int64_t i = 0; i < side->size(); ++i) {
      const Example example = side->read(i);
      EXPECT_EQ(small_tokenizer().decode(example.ids, false),
                std::to_string(example.origin.record) + "x");
    }
}

}  // namespace
}  // namespace cairn::test
