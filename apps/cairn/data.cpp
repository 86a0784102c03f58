// cairn data: what a tokenizer makes of a text, and a recipe of its data. No weights are read: a
// vocabulary is enough.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "commands.h"
#include "data/tokenizer.h"
#include "data_row.h"
#include "files/model_files.h"
#include "recipe_arguments.h"
#include "streams.h"
#include "train/chosen_template.h"
#include "train/prepare.h"

namespace cairn::program {
namespace {

struct Options {
  RecipeArguments recipe;
  std::string model, text;
  int64_t row = 0;
  bool json = false;
};

TokenizerFiles open_tokenizer(const std::string& path) {
  TokenizerFiles files = read_tokenizer(path);
  if (files.tokenizer.is_null())
    throw UserError(fmt::format(
        "{} holds no vocabulary; give a folder with tokenizer.json, or a .gguf with one", path));
  return files;
}

// The whole file, byte for byte; "-" is what comes in on standard input.
std::string read_text(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw UserError(fmt::format("{} cannot be read; give --text the path of a text file", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

int print_ids(const Options& options) {
  if (options.model.empty())
    throw UserError("--text needs --model DIR_OR_GGUF, whose vocabulary is asked");
  if (!options.recipe.words.empty() || options.row != 0)
    throw UserError("--text prints the ids of a text; leave the recipe and --row out");
  const TokenizerFiles files = open_tokenizer(options.model);
  const Tokenizer tokenizer = Tokenizer::from_json(files.tokenizer, files.tokenizer_config);
  const std::vector<int32_t> ids = tokenizer.encode(read_text(options.text));
  if (options.json)
    fmt::print("{}\n",
               nlohmann::ordered_json{
                   {"ids", ids}, {"tokens", ids.size()}, {"vocab_size", tokenizer.vocab_size()}}
                   .dump());
  else
    fmt::print("{}\n", fmt::join(ids, " "));
  return kDone;
}

nlohmann::ordered_json counts_json(const TokenizedData& data) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DatasetCounts& counts : data.counts)
    list.push_back({{"name", counts.name},
                    {"records", counts.records},
                    {"used", counts.used},
                    {"skipped", counts.skipped}});
  return list;
}

void tell_counts(const TokenizedData& data) {
  for (const std::string& note : data.notes) tell("note: {}\n", note);
  for (const DatasetCounts& counts : data.counts) {
    tell("{}: {} records, {} used\n", counts.name, counts.records, counts.used);
    for (const auto& [reason, rows] : counts.skipped) tell("  {} skipped: {}\n", rows, reason);
  }
  if (data.truncated > 0) tell("{} cut at cutoff_len\n", data.truncated);
  if (data.without_label > 0)
    tell("{} left out: nothing in them would train\n", data.without_label);
}

int print_row(const Options& options) {
  std::vector<std::string> overrides;
  if (!options.model.empty()) overrides.push_back(as_override("model_name_or_path", options.model));
  const Recipe recipe = options.recipe.read(overrides);
  if (recipe.data.dataset.empty())
    throw UserError(
        "the recipe names no data: set dataset to a name in dataset_info.json or a file");
  const TokenizerFiles files =
      open_tokenizer(find_path(recipe.model.model_name_or_path, recipe.folder));
  const Tokenizer tokenizer = Tokenizer::from_json(files.tokenizer, files.tokenizer_config);
  std::vector<std::string> remarks;
  const ChatTemplate chat_template = template_of(recipe, files, remarks);
  const TokenizedData data = prepare_data(recipe, chat_template, tokenizer, files);
  if (auto missing = missing_markers_remark(chat_template, tokenizer))
    remarks.push_back(std::move(*missing));
  print_remarks(remarks);
  tell_counts(data);
  if (options.row < 0 || options.row >= data.train.size())
    throw UserError(fmt::format("--row {} is not there: the recipe has the rows 0 to {}",
                                options.row, data.train.size() - 1));
  const Example example = data.train.read(options.row);
  if (options.json) {
    nlohmann::ordered_json json = {{"row", options.row},
                                   {"rows", data.train.size()},
                                   {"validation_rows", data.validation.size()},
                                   {"template", chat_template.name()},
                                   {"datasets", counts_json(data)}};
    json.update(row_json(example, tokenizer));
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return kDone;
  }
  fmt::print("row {} of {}: {} tokens, {} of them trained, template {}\n{}", options.row,
             data.train.size(), example.tokens(), example.trained_labels(), chat_template.name(),
             row_text(example, tokenizer, ::isatty(STDOUT_FILENO) == 1));
  return kDone;
}

int run_data(const Options& options) {
  if (!options.text.empty()) return print_ids(options);
  if (options.recipe.words.empty())
    throw UserError(
        "give a recipe to see a row of its data, or --model DIR_OR_GGUF and --text FILE to see the "
        "ids of a text");
  return print_row(options);
}

}  // namespace

Command add_data(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe.add_to(app);
  app.add_option("--model", options->model, "a model's folder, or a .gguf; a vocabulary is enough");
  app.add_option("--text", options->text, "print the ids of this file's text, no token added");
  app.add_option("--row", options->row, "which row of the recipe's training data, from 0");
  app.add_flag("--json", options->json, "print one JSON object");
  return [options] { return run_data(*options); };
}

}  // namespace cairn::program
