// Ids and labels of rows against LLaMA-Factory: every template, options, tool calls, plain texts,
// and where they are at hand the demo data that it publishes
// (tools/make_goldens/make_chat_rows.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/tokenized_data.h"
#include "data/tool_format.h"

namespace cairn {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kFolder = fs::path(CAIRN_SOURCE_DIR) / "tests/golden/data/chat";

json read_json(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

Tokenizer make_tokenizer(const std::string& name, const json& more = json::object()) {
  json config = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  config.update(more);
  return Tokenizer::from_json(read_json(kFolder / (name + "_tokenizer.json")), config);
}

// "COUNT HASH", as the script writes a row.
std::string row_hash(const Example& example) {
  uint64_t value = 0xCBF29CE484222325;
  for (const auto* numbers : {&example.ids, &example.labels})
    for (const int32_t number : *numbers)
      for (int shift = 0; shift < 32; shift += 8)
        value = (value ^ ((static_cast<uint32_t>(number) >> shift) & 0xFF)) * 0x100000001B3;
  return fmt::format("{} {:016x}", example.tokens(), value);
}

EncodeOptions options_from(const json& given) {
  EncodeOptions options;
  for (const auto& [key, value] : given.items()) {
    if (key == "cutoff_len") options.cutoff_len = value;
    if (key == "mask_history") options.mask_history = value;
    if (key == "train_on_prompt") options.train_on_prompt = value;
    if (key == "default_system") options.words.default_system = value.get<std::string>();
    if (key == "tool_format") options.words.tool_format = value;
    if (key == "preserve_thinking") options.words.preserve_thinking = value;
    if (key == "enable_thinking")
      options.words.enable_thinking =
          value.is_null() ? std::nullopt : std::optional(value.get<bool>());
  }
  return options;
}

std::vector<std::string> names_of(const std::string& comma_list) {
  std::vector<std::string> names;
  std::istringstream in(comma_list);
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

// Every row of the data sets, "-" for one that cannot be used.
std::vector<std::string> rows_of(const json& test, const fs::path& folder, size_t most) {
  const Tokenizer tokenizer = make_tokenizer(test["tokenizer"]);
  const ChatTemplate chat_template = ChatTemplate::named(test["template"].get<std::string>());
  const EncodeOptions options = options_from(test.value("options", json::object()));
  std::vector<std::string> rows;
  for (const DatasetEntry& entry : find_datasets(names_of(test["names"]), folder)) {
    const auto source = open_records(entry.files.front());
    size_t read = 0;
    while (const auto record = read++ < most ? source->next() : std::nullopt) {
      const FormattedRow row = formatted_row(record->value, entry, RowUse::conversation);
      std::string hash = "-";
      try {
        if (row.skipped.empty())
          hash = row_hash(chat_template.encode(row.conversation, tokenizer, options).example);
      } catch (const UnusableRow&) {
      }
      rows.push_back(hash);
    }
  }
  return rows;
}

void expect_rows(const json& golden, const fs::path& folder, size_t most) {
  for (const json& test : golden) {
    const std::vector<std::string> rows = rows_of(test, folder, most);
    ASSERT_EQ(rows.size(), test["rows"].size()) << test["template"];
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], test["rows"][i].get<std::string>())
          << test["template"] << " of " << test["names"] << ", row " << i << " "
          << test.value("options", json::object());
  }
}

TEST(ChatRowsGolden, every_template_gives_the_ids_and_labels_of_llama_factory) {
  const json golden = read_json(kFolder / "golden.json")["conversations"];
  ASSERT_GE(golden.size(), ChatTemplate::names().size());
  expect_rows(golden, kFolder, SIZE_MAX);
}

TEST(ChatRowsGolden, published_rows_give_the_ids_and_labels_of_llama_factory) {
  const fs::path shared = fs::path(CAIRN_SOURCE_DIR) / "../shared/data/llamafactory";
  if (!fs::exists(shared)) GTEST_SKIP() << "the demo data of LLaMA-Factory is absent: " << shared;
  expect_rows(read_json(kFolder / "published.json")["conversations"], shared, 200);
}

TEST(ChatRowsGolden, plain_texts_are_joined_and_cut_as_llama_factory_does) {
  const json golden = read_json(kFolder / "golden.json");
  ASSERT_FALSE(golden["documents"].empty());
  for (const json& test : golden["documents"]) {
    json config = test["special"];
    config["add_bos_token"] = test["adds_bos"];
    const Tokenizer tokenizer = make_tokenizer("sentencepiece", config);
    DataOptions options;
    options.names = {"texts"};
    options.dataset_dir = kFolder;
    options.use = RowUse::document;
    options.joins_documents = test["packing"];
    // LLaMA-Factory keeps one token of a packed row free; here rows are filled.
    options.encode.cutoff_len =
        test["cutoff_len"].get<int64_t>() - (options.joins_documents ? 1 : 0);
    options.rows_at_a_time = test["rows_at_a_time"];
    options.reads_cache = false;
    const TokenizedData data =
        tokenize_data(options, ChatTemplate::named(test["template"].get<std::string>()), tokenizer,
                      "sentencepiece" + config.dump());
    std::vector<std::string> rows;
    for (int64_t i = 0; i < data.train.size(); ++i) rows.push_back(row_hash(data.train.read(i)));
    EXPECT_EQ(rows, test["rows"].get<std::vector<std::string>>()) << test.dump().substr(0, 200);
  }
}

}  // namespace
}  // namespace cairn
