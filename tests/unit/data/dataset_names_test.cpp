// Names of data sets: commas, finders and paths that no file system takes; and reasons that quote
// rows.
#include <algorithm>

#include "data/dataset.h"
#include "unit/data/data_folder.h"

namespace cairn::test {
namespace {

class DatasetNames : public DataFolder {};

TEST_F(DatasetNames, a_name_is_one_file_whatever_letters_it_has) {
  write("a,b/one, two.jsonl", "{}");
  const std::string path = (folder_ / "a,b/one, two.jsonl").string();
  EXPECT_EQ(find_datasets({path}, folder_).at(0).files.at(0), path);
  EXPECT_EQ(find_datasets({"a,b/one, two.jsonl"}, folder_).at(0).files.at(0), path);
}

TEST_F(DatasetNames, a_folder_is_found_as_files_are_and_keeps_the_name_given) {
  write("far/rows/a.jsonl", "{}");
  write("dataset_info.json", R"({"named": {"file_name": "far/rows/a.jsonl"}})");
  const FindFile find = [&](const std::string& name) { return folder_ / "far" / name; };
  const std::vector<DatasetEntry> entries = find_datasets({"rows", "named"}, folder_, find);
  EXPECT_EQ(entries.at(0).name, "rows");
  EXPECT_EQ(entries.at(0).files.at(0), folder_ / "far/rows/a.jsonl");
  EXPECT_EQ(entries.at(1).name, "named");
}

TEST_F(DatasetNames, paths_that_no_file_system_takes_are_the_users_mistake) {
  const std::string long_name(300, 'x');
  EXPECT_THROW(find_datasets({long_name}, folder_), UserError);
  EXPECT_THROW(find_datasets({"x"}, folder_ / long_name), UserError);
  std::filesystem::create_symlink("itself", folder_ / "itself");
  EXPECT_THROW(find_datasets({"itself"}, folder_), UserError);
  write("dataset_info.json", R"({"d": {"file_name": ")" + long_name + R"("}})");
  EXPECT_THROW(find_datasets({"d"}, folder_), UserError);
}

TEST_F(DatasetNames, reasons_that_quote_rows_stay_few_and_short) {
  std::string lines = R"({"messages":[{"role":"user","content":"q"},{"role":"assistant",)"
                      R"("content":"a"}]})"
                      "\n";
  for (int i = 0; i < 1000; ++i)
    lines += fmt::format(R"({{"messages":[{{"role":"{}","content":"q"}}]}})",
                         std::to_string(i) + std::string(10'000, 'r')) +
             "\n";
  write("rows.jsonl", lines);
  RowReader reader(find_datasets({"rows.jsonl"}, folder_).at(0), RowUse::conversation, {});
  while (reader.next()) {
  }
  const DatasetCounts counts = reader.counts();
  EXPECT_EQ(counts.skipped_total(), 1000);
  EXPECT_EQ(counts.skipped.size(), 21u);
  EXPECT_EQ(counts.skipped.at("other reasons"), 980);
  for (const auto& [reason, rows] : counts.skipped) EXPECT_LT(reason.size(), 200u) << reason;
  expect_says(counts.skipped.rbegin()->first, "rrr...\" is not one of the entry's tags");
}

TEST_F(DatasetNames, columns_that_no_mapping_has_are_shown_by_some_of_their_names) {
  nlohmann::json row;
  for (int i = 0; i < 4000; ++i) row[std::to_string(i) + std::string(100, 'c')] = i;
  write("rows.jsonl", row.dump());
  RowReader reader(find_datasets({"rows.jsonl"}, folder_).at(0), RowUse::conversation, {});
  while (reader.next()) {
  }
  const std::string message = message_of<UserError>([&] { reader.counts(); });
  expect_says(message, "3980 more");
  EXPECT_LT(message.size(), 2000u);
}

}  // namespace
}  // namespace cairn::test
