// Vocabularies and rows that broke other trainers, given to the program: exit code 4 for what is
// damaged, 2 for what is whole and not read, and 0 where nothing is wrong and no record is lost.
#include <gtest/gtest.h>

#include <functional>

#include "cli/damaged_files.h"

namespace cairn::test {
namespace {

class DamagedTokenizer : public DamagedFiles {
 protected:
  // The small tokenizer after `change`.
  static std::string with(const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json tokenizer = small_tokenizer_json();
    change(tokenizer);
    return tokenizer.dump();
  }
  static std::string with_model(const char* key, const nlohmann::json& value) {
    return with([&](nlohmann::json& tokenizer) { tokenizer["model"][key] = value; });
  }
  static std::string with_added(const nlohmann::json& token) {
    return with([&](nlohmann::json& tokenizer) { tokenizer["added_tokens"].push_back(token); });
  }
  void expect_tokenizer(int exit_code, const std::vector<Damage>& damages) const {
    expect(exit_code, "model/tokenizer.json", "plan recipe.yaml", damages);
  }
};

TEST_F(DamagedTokenizer, merges_in_both_forms_give_the_same_ids) {
  const Outcome joined = cairn("data --model model --text recipe.yaml");
  ASSERT_EQ(joined.exit_code, 0) << joined.output;
  nlohmann::json pairs = nlohmann::json::array();
  for (const auto& [left, right] : small_merges()) pairs.push_back({left, right});
  write_file(folder_ / "model/tokenizer.json", with_model("merges", pairs));
  EXPECT_EQ(cairn("data --model model --text recipe.yaml").output, joined.output);
}

TEST_F(DamagedTokenizer, merges_that_are_none_are_told_with_their_place) {
  expect_tokenizer(4, {{with_model("merges", {"h e x"}), {"`merges` entry 0", "h e x"}},
                       {with_model("merges", {{"a", "b", "c"}}), {"`merges` entry 0"}},
                       {with_model("merges", {3}), {"`merges` entry 0"}},
                       {with_model("merges", {"h zz"}), {"`vocab` lacks \"zz\""}},
                       {with_model("merges", nullptr), {"`merges` should be a list"}}});
}

TEST_F(DamagedTokenizer, a_merge_of_tokens_with_spaces_needs_the_pair_form) {
  nlohmann::json tokenizer = small_tokenizer_json();
  tokenizer["model"]["vocab"].update({{"y ", 264}, {"y z", 265}});
  tokenizer["added_tokens"] = nlohmann::json::array();
  tokenizer["model"]["merges"] = nlohmann::json::array({"y  z"});
  write_file(folder_ / "model/tokenizer_config.json", "{}");
  expect_tokenizer(4, {{tokenizer.dump(), {"with one space, or a pair"}}});
  tokenizer["model"]["merges"] = nlohmann::json::array({{"y ", "z"}});
  write_file(folder_ / "model/tokenizer.json", tokenizer.dump());
  EXPECT_EQ(cairn("data --model model --text recipe.yaml").exit_code, 0);
}

TEST_F(DamagedTokenizer, parts_that_are_not_built_are_named_by_their_type) {
  for (const char* part : {"normalizer", "pre_tokenizer", "decoder"})
    expect_tokenizer(2, {{with([&](nlohmann::json& t) {
                            t[part] = {{"type", "Frobnicate"}};
                          }),
                          {"\"Frobnicate\""}}});
  for (const char* kind : {"Unigram", "WordPiece", "WordLevel"})
    expect_tokenizer(2, {{with_model("type", kind), {kind, "BPE"}}});
}

TEST_F(DamagedTokenizer, ids_beyond_the_embedding_are_told_before_any_work) {
  const auto token = [](const nlohmann::json& id) {
    return nlohmann::json{{"id", id}, {"content", "<more>"}, {"special", true}};
  };
  const Damage beyond = {with_added(token(kVocab)), {}};
  write_file(folder_ / "model/tokenizer.json", beyond.content);
  expect_refused("plan recipe.yaml", 2, "ids up to 272, but the model embeds 272");
  expect_tokenizer(4, {{with_added(token(2'000'000'000)), {"2000000000"}},
                       {with_added(token(-1)), {"whole number"}},
                       {with_added(token("7")), {"whole number"}},
                       {with_added({{"id", 7}}), {"no `content`"}}});
}

TEST_F(DamagedTokenizer, a_file_that_is_none_is_named_for_what_it_is) {
  expect_tokenizer(4, {{kPointer, {"Git LFS pointer"}},
                       {kPage, {"HTML page"}},
                       {"", {"empty file"}},
                       {"\xff\xfe{", {"UTF-16"}},
                       {small_tokenizer_json().dump().substr(0, 2000), {"line 1, column 2000"}},
                       {R"({"added_tokens": []})", {"no `model`"}}});
  write_file(folder_ / "model/tokenizer.json", small_tokenizer_json().dump());
  expect(4, "model/tokenizer_config.json", "plan recipe.yaml",
         {{R"({"eos_token": "<nope>"})", {"<nope>", "do not belong together"}},
          {R"({"added_tokens_decoder": {"x": {"content": "y"}}})", {"whole number"}}});
}

class DamagedRows : public DamagedFiles {
 protected:
  // Sixteen rows as lines.
  static std::string lines() {
    std::string text;
    for (int i = 0; i < 16; ++i)
      text += R"({"instruction": "say )" + std::to_string(i) +
              R"(", "output": "hello"})"
              "\n";
    return text;
  }
  void expect_records(const std::string& content, const std::string& records) const {
    write_file(folder_ / "rows.jsonl", content);
    const Outcome outcome = cairn("data recipe.yaml dataset=rows.jsonl");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_NE(outcome.output.find(records), std::string::npos) << outcome.output;
  }
  void expect_rows(int exit_code, const std::string& file,
                   const std::vector<Damage>& damages) const {
    expect(exit_code, file, "plan recipe.yaml dataset=" + file, damages);
  }
};

TEST_F(DamagedRows, no_record_is_lost_to_marks_and_separators) {
  const std::string text = lines(), all = "16 records, 16 used";
  const auto replaced = [&](const std::string& with) {
    std::string changed = text;
    for (size_t at = 0; (at = changed.find("hello", at)) != changed.npos; at += with.size())
      changed.replace(at, 5, with);
    return changed;
  };
  expect_records(text, all);
  expect_records("\xef\xbb\xbf" + text, all);
  expect_records(text.substr(0, text.size() - 1), all);
  expect_records("\n\n" + text + "\n \n", all);
  expect_records(replaced("a\u0085b\u2028c\u2029d"), all);
  expect_records(replaced(std::string(3'000'000, 'h')), all);
  std::string carriage = text;
  for (size_t at = 0; (at = carriage.find('\n', at)) != carriage.npos; at += 2)
    carriage.insert(at, "\r");
  expect_records(carriage, all);
}

TEST_F(DamagedRows, an_array_lines_and_strings_are_told_apart) {
  std::string array = "[", strings;
  const std::string text = lines();
  for (size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string row = text.substr(at, end - at);
    array += (at ? "," : "") + row;
    strings += nlohmann::json(row).dump() + "\n";
  }
  expect_records(array + "]", "16 records, 16 used");
  expect_records(strings, "16 records, 16 used");
}

TEST_F(DamagedRows, a_torn_row_is_told_with_line_and_column_before_training) {
  const std::string text = lines();
  expect_rows(4, "rows.jsonl",
              {{text.substr(0, text.size() - 8), {"line 16, column", "torn"}},
               {text.substr(0, 200) + text.substr(230), {"line"}},
               {"[" + text + "]", {"line 2, column 1", "comma"}},
               {"{\"instruction\":\"" + std::string(1'000'000, 'a'), {"line 1, column"}},
               {"{\"a\":" + std::string(100'000, '[') + "}", {"200 levels"}},
               {"{\"a\": 1e999}", {"out of range"}},
               {"{\"instruction\": \"\xe9\"}", {"UTF-8"}}});
  EXPECT_LT(cairn("plan recipe.yaml dataset=rows.jsonl").output.size(), 2000u);
}

TEST_F(DamagedRows, a_line_beyond_any_record_is_refused_by_its_size) {
  expect_rows(
      4, "rows.jsonl",
      {{"{\"instruction\":\"" + std::string(size_t{65} << 20, 'a'), {"line 1", "64.0 MiB"}}});
  expect_rows(4, "rows.txt", {{std::string(size_t{65} << 20, 'a'), {"64.0 MiB"}}});
}

TEST_F(DamagedRows, files_of_other_kinds_are_named) {
  for (const char* file : {"rows.json", "rows.jsonl", "rows.csv", "rows.txt"}) {
    expect_rows(4, file,
                {{kPointer, {"Git LFS pointer"}}, {std::string(4096, '\0'), {"zero bytes"}}});
    expect_rows(2, file,
                {{"PAR1\x15\x04" + std::string(60, 'x'), {"parquet"}},
                 {"\x1f\x8b\x08" + std::string(60, 'x'), {"gzip"}},
                 {"\x28\xb5\x2f\xfd" + std::string(60, 'x'), {"Zstandard"}},
                 {"ARROW1" + std::string(60, '\0'), {"Arrow"}},
                 {"\xff\xfe{", {"UTF-16"}}});
  }
  expect_rows(4, "rows.jsonl", {{kPage, {"HTML page"}}});
  expect_rows(2, "rows.json",
              {{"", {"holds no record"}}, {"[]", {"holds no record"}}, {"[1]", {"a JSON number"}}});
}

TEST_F(DamagedRows, a_list_of_data_sets_is_held_to_what_it_can_mean) {
  const std::string command = "plan recipe.yaml dataset=d dataset_dir=.";
  expect(2, "dataset_info.json", command,
         {{R"({"d": {"file_name": "rows.json", "num_samples": 1000000000000}})", {"67108864"}},
          {R"({"d": {"file_name": "gone.json"}})", {"gone.json", "does not exist"}},
          {R"({"d": {"hf_hub_url": "a/b"}})", {"not fetched"}},
          {"{}", {"names no data set at all"}}});
  expect(4, "dataset_info.json", command,
         {{"[]", {"array"}},
          {R"({"d": 3})", {"\"d\" should be an object"}},
          {R"({"d": {}, "d": {}})", {"\"d\" twice"}},
          {kPointer, {"Git LFS pointer"}}});
}

// Where others went below zero and asked for 2^64 bytes.
TEST_F(DamagedRows, a_text_shorter_than_one_block_is_told_by_its_tokens) {
  const auto plan = [&](int64_t letters, int64_t cutoff, const char* packing) {
    std::string text;
    for (int64_t i = 0; i < letters; ++i) text += static_cast<char>('A' + i % 26);
    write_file(folder_ / "short.txt", text);
    return cairn("plan recipe.yaml stage=pt val_size=0 dataset=short.txt packing=" +
                 std::string(packing) + " cutoff_len=" + std::to_string(cutoff));
  };
  for (const int64_t letters : {int64_t{1}, int64_t{400}}) {
    const Outcome outcome = plan(letters, 512, "true");
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    for (const char* word : {"less than one block of cutoff_len 512", "lower cutoff_len"})
      EXPECT_NE(outcome.output.find(word), std::string::npos) << outcome.output;
  }
  EXPECT_EQ(plan(400, 512, "false").exit_code, 0);
  EXPECT_EQ(plan(513, 512, "true").exit_code, 0);
  EXPECT_EQ(plan(819, 256, "true").exit_code, 0);
  EXPECT_EQ(plan(0, 512, "true").exit_code, 2);
}

}  // namespace
}  // namespace cairn::test
