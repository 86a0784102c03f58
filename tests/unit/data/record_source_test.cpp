// Records of text and of comma-separated values, and which files are read at all.
#include "data/record_source.h"

#include "unit/data/data_folder.h"

namespace cairn::test {
namespace {

class RecordSourceTest : public DataFolder {
 protected:
  std::vector<std::string> read(const std::string& name, std::string_view contents) {
    const auto source = open_records(write(name, contents));
    std::vector<std::string> records;
    while (const auto record = source->next()) records.push_back(record->value.dump());
    blank_lines_ = source->blank_lines();
    return records;
  }
  int64_t blank_lines_ = 0;
};

using Records = std::vector<std::string>;

TEST_F(RecordSourceTest, a_line_of_text_is_a_record_and_ends_at_the_line_feed_alone) {
  EXPECT_EQ(
      read("a.txt", "\xEF\xBB\xBFone\r\n\ntwo\u2028\u0085 three"),
      (Records{R"({"text":"one"})", R"({"text":""})", "{\"text\":\"two\u2028\u0085 three\"}"}));
  EXPECT_EQ(read("a.txt", "one\n"), Records{R"({"text":"one"})"}) << "no record after the last";
  EXPECT_EQ(read("a.txt", ""), Records{});
}

TEST_F(RecordSourceTest, values_are_under_the_columns_of_the_first_line) {
  EXPECT_EQ(read("a.csv", "\xEF\xBB\xBFinstruction,output\r\nq,r\r\n\"a, \"\"b\"\"\nc\",\n\n"),
            (Records{R"({"instruction":"q","output":"r"})",
                     R"({"instruction":"a, \"b\"\nc","output":null})"}))
      << "an empty field is no text";
  EXPECT_EQ(blank_lines_, 1);
  EXPECT_EQ(read("a.csv", "text\na\n\nb"), (Records{R"({"text":"a"})", R"({"text":"b"})"}));
  EXPECT_EQ(blank_lines_, 1);
}

TEST_F(RecordSourceTest, a_torn_line_of_values_is_named_with_its_place) {
  expect_says(message_of<DamagedFile>([&] { read("a.csv", "a,b\n1,2\n3\n"); }),
              "a.csv, line 3: 1 fields under 2 columns");
  expect_says(message_of<DamagedFile>([&] { read("a.csv", "a,b\n1,\"2\n3,4\n"); }),
              "a.csv, line 2: a quoted field that does not end");
  expect_says(message_of<UserError>([&] { read("a.csv", ""); }), "names of the columns");
}

TEST_F(RecordSourceTest, columns_are_bounded) {
  const auto line = [](int64_t columns) {
    std::string text;
    for (int64_t i = 0; i < columns; ++i) text += fmt::format("{}c{}", i == 0 ? "" : ",", i);
    return text + "\n";
  };
  EXPECT_EQ(read("a.csv", line(4096) + line(4096)).size(), 1u);
  expect_says(message_of<DamagedFile>([&] { read("a.csv", line(1'000'000)); }),
              "a.csv, line 1: more than 4096 fields");
  expect_says(message_of<DamagedFile>([&] { read("a.csv", "a,b\n" + line(1'000'000)); }),
              "a.csv, line 2: more than 4096 fields");
}

TEST_F(RecordSourceTest, packed_files_under_a_name_of_text_are_named) {
  expect_says(message_of<UserError>([&] { read("a.txt", "PK\x03\x04"); }), "a zip archive");
  expect_says(message_of<UserError>([&] { read("a.txt", "\xFF\xFEh\0"); }), "UTF-16");
  expect_says(message_of<DamagedFile>([&] { read("a.csv", "version https://git-lfs"); }), "LFS");
  EXPECT_EQ(read("a.txt", "<html>"), Records{R"({"text":"<html>"})"});
  expect_says(message_of<UserError>([&] { open_records(folder_ / "gone.txt"); }), "gone.txt");
}

TEST_F(RecordSourceTest, text_may_begin_with_the_words_of_other_formats) {
  for (const std::string word : {"GGUF", "PAR1", "BZh", "ARROW1", "Rar!", "%PDF"}) {
    const std::string line = word + " is a \xC3\xA9 format";
    EXPECT_EQ(read("a.txt", line), Records{R"({"text":")" + line + "\"}"});
    EXPECT_EQ(read("a.csv", line + "\nx"), Records{"{\"" + line + R"(":"x"})"});
    // A head that ends inside of a character.
    const std::string cut = word + std::string(511 - word.size(), 'x') + "\xC3\xA9";
    EXPECT_EQ(read("a.txt", cut).size(), 1u);
    EXPECT_THROW(read("a.txt", word + std::string(4, '\0')), UserError);
    EXPECT_THROW(read("a.csv", word + "\x15\x04"), UserError);
    EXPECT_THROW(read("a.txt", word + "\xE9 is Latin-1"), UserError);
  }
}

TEST_F(RecordSourceTest, what_would_lose_text_is_refused_with_its_line) {
  expect_says(message_of<DamagedFile>([&] { read("a.txt", "one\nt\xE9\n"); }), "a.txt, line 2");
  expect_says(message_of<DamagedFile>([&] { read("a.csv", "a,b\n1,\xFF\n"); }), "a.csv, line 2");
  expect_says(message_of<DamagedFile>([&] { read("a.csv", "a,b,a\n1,2,3\n"); }), "\"a\"");
}

}  // namespace
}  // namespace cairn::test
