// Reading records: every shape that people's files come in, and where a broken one broke.
#include "data/record_reader.h"

#include "support/resident_size.h"
#include "unit/data/data_folder.h"

namespace cairn::test {
namespace {

class RecordReaderTest : public DataFolder {
 protected:
  std::vector<Record> read(std::string_view contents, const std::string& name = "rows.json") {
    RecordReader reader(write(name, contents));
    std::vector<Record> records;
    while (auto record = reader.next()) records.push_back(std::move(*record));
    blank_lines_ = reader.blank_lines();
    return records;
  }
  std::vector<int> numbers(std::string_view contents) {
    std::vector<int> values;
    for (const Record& record : read(contents)) values.push_back(record.value.at("n").get<int>());
    return values;
  }
  // The damage found, without the file's name.
  std::string damage(std::string_view contents) {
    const std::string text = message_of<DamagedFile>([&] { read(contents); });
    expect_says(text, "rows.json");
    return text.substr(text.find("rows.json") + 9);
  }

  int64_t blank_lines_ = 0;
};

using Numbers = std::vector<int>;

TEST_F(RecordReaderTest, arrays_and_lines_are_told_apart_by_their_contents) {
  EXPECT_EQ(numbers("[{\"n\":1}, {\"n\":2}]"), (Numbers{1, 2}));
  EXPECT_EQ(numbers("{\"n\":1}\n{\"n\":2}\n"), (Numbers{1, 2}));
  EXPECT_EQ(numbers(" \n [ \n{\"n\"\n:1}\n]\n\n"), Numbers{1});
  EXPECT_EQ(numbers("[]"), Numbers{});
  EXPECT_EQ(numbers(""), Numbers{});
}

TEST_F(RecordReaderTest, a_byte_order_mark_loses_no_record) {
  const std::string mark = "\xEF\xBB\xBF";
  for (int count = 1; count <= 9; ++count) {
    std::string lines = mark, array = mark + "[";
    Numbers expected;
    for (int n = 0; n < count; ++n) {
      lines += fmt::format("{{\"n\":{}}}\n", n);
      array += fmt::format("{}{{\"n\":{}}}", n == 0 ? "" : ",", n);
      expected.push_back(n);
    }
    EXPECT_EQ(numbers(lines), expected);
    EXPECT_EQ(numbers(array + "]"), expected);
  }
}

TEST_F(RecordReaderTest, lines_end_at_the_line_feed_alone) {
  const std::string separators = "\u2028 \u2029 \u0085 \x7F";
  const auto records = read("{\"s\":\"" + separators + "\"}\r\n{\"s\":\"x\"}\r\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].value["s"], separators);
  EXPECT_EQ(records[1].line, 2);
}

TEST_F(RecordReaderTest, the_last_line_may_lack_its_end_and_blank_lines_are_counted) {
  EXPECT_EQ(numbers("{\"n\":1}\n{\"n\":2}"), (Numbers{1, 2}));
  EXPECT_EQ(blank_lines_, 0);
  EXPECT_EQ(numbers("\n{\"n\":1}\n \t\r\n\n{\"n\":2}\n\n"), (Numbers{1, 2}));
  EXPECT_EQ(blank_lines_, 4);
}

TEST_F(RecordReaderTest, objects_written_as_strings_are_read_and_told) {
  const auto records = read("\"{\\\"n\\\": 1}\"\n{\"n\":2}\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].value["n"], 1);
  EXPECT_TRUE(records[0].string_encoded);
  EXPECT_FALSE(records[1].string_encoded);
  EXPECT_EQ(numbers("[\"{\\\"n\\\": 1}\", {\"n\": 2}]"), (Numbers{1, 2}));
}

TEST_F(RecordReaderTest, a_record_may_be_longer_than_any_block) {
  const std::string text(5'000'000, 'x');
  const std::string record = "{\"s\":\"" + text + "\\\"]},\"}";
  for (const std::string& contents :
       {record + "\n" + record + "\n", "[" + record + "," + record + "]"}) {
    const auto records = read(contents);
    ASSERT_EQ(records.size(), 2u);
    for (const Record& read_back : records) EXPECT_EQ(read_back.value["s"], text + "\"]},");
  }
}

TEST_F(RecordReaderTest, every_way_to_cut_the_blocks_gives_the_same_records) {
  // Records of odd sizes, so that block ends fall inside strings, escapes and between records.
  std::string lines, array = "[";
  Numbers expected;
  for (int n = 0; n < 3000; ++n) {
    const std::string record = fmt::format("{{\"n\":{},\"s\":\"{}\\\\\\\"\"}}", n,
                                           std::string(static_cast<size_t>(n * 7 % 997), '"' - 1));
    lines += record + "\n";
    array += (n == 0 ? "" : ",\n") + record;
    expected.push_back(n);
  }
  EXPECT_EQ(numbers(lines), expected);
  EXPECT_EQ(numbers(array + "]"), expected);
}

TEST_F(RecordReaderTest, damage_is_placed_by_line_and_column) {
  expect_says(damage("{\"n\":1}\n{\"n\":1}{\"n\":2}\n"), ", line 2, column 8: ");
  expect_says(damage("{\"n\":1}\n\n{\"n\":\n"), ", line 3, column 6: ");
  expect_says(damage("{\"n\":1}\n{\"n\":\n"), "torn");
  expect_says(damage("{\n\"n\":1}\n"), ", line 1, column 2: ");
  expect_says(damage("[{\"n\":1},\n {\"n\":1 \"m\":2}]"), ", line 2, column 11: ");
  expect_says(damage("[{\"n\":1}\n{\"n\":2}]"), ", line 2, column 1: expected a comma or ]");
  expect_says(damage("[{\"n\":1},\n]"), ", line 2, column 1: ");
  expect_says(damage("[{\"n\":1},\n{\"n\":2"), "line 2");
  expect_says(damage("[{\"n\":1}\n"), "ends inside its array");
  expect_says(damage("[{\"n\":1}]\n{\"n\":2}"), ", line 2, column 1: more text after");
  expect_says(damage("{\"s\":\"\xFF\"}"), ", line 1, column 7: ");
  expect_says(damage("hello\n"), ", line 1, column 1: ");
}

TEST_F(RecordReaderTest, nothing_behind_a_byte_of_zero_is_dropped) {
  using namespace std::string_literals;
  expect_says(damage("{\"n\":1}\0{\"n\":2}\n"s), ", line 1, column 8: a byte of zero");
  expect_says(damage("{\"n\":1}\n{\"n\":2}\0\n"s), ", line 2, column 8: a byte of zero");
  expect_says(damage("[{\"n\":1}, {\"n\":2 \0}]"s), "a byte of zero");
  // Inside a string that holds a record.
  expect_says(message_of<UserError>([&] { read(R"("{\"n\":1}\u0000{\"n\":2}")"); }), "string");
}

TEST_F(RecordReaderTest, blanks_before_the_first_record_are_dropped_as_they_come) {
  constexpr int64_t kBlanks = 96 << 20;
  const auto path = folder_ / "blank.json";
  {
    std::ofstream file(path, std::ios::binary);
    for (int64_t i = 0; i < kBlanks >> 20; ++i) file << std::string(1 << 20, '\n');
    file << "{\"n\": 1}";
  }
  if (!testing::reset_resident_peak()) GTEST_SKIP() << "the kernel measures no new peak here";
  const int64_t before = testing::read_resident_size()->now_bytes;
  RecordReader reader(path);
  EXPECT_EQ(reader.next()->line, kBlanks + 1);
  EXPECT_EQ(reader.blank_lines(), kBlanks);
  EXPECT_LT(testing::read_resident_size()->peak_bytes - before, kBlanks / 4);
}

TEST_F(RecordReaderTest, an_object_of_very_many_members_is_refused_before_it_is_parsed) {
  const auto object = [](int64_t members, std::string_view quote) {
    std::string text = "{";
    for (int64_t i = 0; i < members; ++i)
      text += fmt::format("{}{}n{}{}: 1", i == 0 ? "" : ", ", quote, i, quote);
    return text + "}";
  };
  const std::string plain = "\"", escaped = "\\\"";
  EXPECT_EQ(read(object(4096, plain)).front().value.size(), 4096u);
  EXPECT_EQ(read("\"" + object(4096, escaped) + "\"").front().value.size(), 4096u);
  // Half a million members would take minutes to parse.
  for (const std::string& many :
       {object(500'000, plain), "[{\"n\": " + object(500'000, plain) + "}]",
        "\"" + object(500'000, escaped) + "\""})
    expect_says(damage(many), ": an object of the record has more than 4096 members");
}

TEST_F(RecordReaderTest, records_that_are_no_objects_and_files_that_are_no_text_are_refused) {
  expect_says(message_of<UserError>([&] { read("{\"n\":1}\n7\n"); }), "line 2");
  expect_says(message_of<UserError>([&] { read("[[1],[2]]"); }), "array");
  expect_says(message_of<UserError>([&] { read("\"plain words\""); }), "string");
  expect_says(message_of<UserError>([&] { read("PAR1\x15"); }), "parquet");
  expect_says(message_of<UserError>([&] { read("\x1F\x8B\x08"); }), "gzip");
  expect_says(
      message_of<DamagedFile>([&] { read("version https://git-lfs.github.com/spec/v1\n"); }),
      "LFS pointer");
  expect_says(message_of<UserError>([] { RecordReader("/nowhere/rows.json"); }), "/nowhere");
}

}  // namespace
}  // namespace cairn::test
