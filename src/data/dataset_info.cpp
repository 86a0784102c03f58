// Looking up data sets, and refusing by name what is not built.
#include "data/dataset_info.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/json_field.h"
#include "data/nearest_names.h"
#include "data/record_source.h"
#include "files/folder_entries.h"
#include "files/json_file.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The draws are kept, 8 bytes each.
constexpr int64_t kMostDrawnRows = int64_t{1} << 26;

[[noreturn]] void refuse_kind(const fs::path& file, const std::string& name) {
  const std::string ending = file.extension().string();
  std::string convert = "convert it first";
  if (ending == ".parquet" || ending == ".arrow")
    convert = fmt::format(
        "convert it first, in Python for example: pandas.{}.to_json(\"{}.jsonl\", "
        "orient=\"records\", lines=True)",
        ending == ".parquet" ? fmt::format("read_parquet(\"{}\")", file.filename().string())
                             : fmt::format("read_feather(\"{}\")", file.filename().string()),
        file.stem().string());
  throw UserError(fmt::format(
      "the data set \"{}\" is in {}; only .json, .jsonl, .csv and .txt are built, so {}", name,
      file.string(), convert));
}

// A file, or the files of a folder in the order of their names.
std::vector<fs::path> files_at(const fs::path& path, const std::string& name) {
  std::vector<fs::path> files;
  if (is_folder(path)) {
    std::error_code ignored;
    for (const fs::path& entry : folder_entries(path))
      if (fs::is_regular_file(entry, ignored)) files.push_back(entry);
    if (files.empty())
      throw UserError(fmt::format("the data set \"{}\" is the folder {}, which holds no file", name,
                                  path.string()));
  } else {
    files.push_back(path);
  }
  for (const fs::path& file : files)
    if (!is_record_file(file)) refuse_kind(file, name);
  return files;
}

json read_info(const fs::path& path) {
  return is_there(path) ? read_json_object(path.string()) : json(nullptr);
}

void refuse_columns(const json& columns, const std::string& where) {
  if (columns.is_null()) return;
  for (const char* key : {"images", "videos", "audios", "chosen", "rejected", "kto_tag"})
    if (!field_of(columns, key, where).is_null())
      throw UserError(
          fmt::format("{} maps the column `{}`, which is not built; built are prompt, query, "
                      "response, history, messages, system and tools",
                      where, key));
}

using Names = std::vector<std::string>;

// Keys of `object` that nobody reads, each named with the nearest that is.
void note_unknown(const json& object, const Names& known, const std::string& what,
                  std::vector<std::string>& notes) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      notes.push_back(
          fmt::format("{}: the {} `{}` is not known and has no effect; the nearest is `{}`",
                      "dataset_info.json", what, key, nearest_names(key, known, 1).front()));
}

void note_keys(const json& description, std::vector<std::string>& notes) {
  note_unknown(
      description,
      {"hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name", "file_name",
       "formatting", "ranking", "subset", "split", "folder", "num_samples", "columns", "tags"},
      "key", notes);
  if (!description.is_object()) return;
  if (description.contains("columns"))
    note_unknown(description["columns"],
                 {"prompt", "query", "response", "history", "messages", "system", "tools", "images",
                  "videos", "audios", "chosen", "rejected", "kto_tag"},
                 "column", notes);
  if (description.contains("tags"))
    note_unknown(description["tags"],
                 {"role_tag", "content_tag", "user_tag", "assistant_tag", "observation_tag",
                  "function_tag", "system_tag"},
                 "tag", notes);
  for (const char* key : {"subset", "split", "folder"})
    if (description.contains(key) && !description[key].is_null() && description[key] != "train")
      notes.push_back(fmt::format(
          "dataset_info.json: the key `{}` has no effect on a file, which is read whole", key));
}

// With `columns` or `tags` present, LLaMA-Factory takes every one not listed as absent.
AlpacaColumns alpaca_columns(const json& columns, const std::string& where) {
  if (columns.is_null()) return {};
  const auto column = [&](const char* key) { return string_field(columns, key, "", where); };
  return {column("prompt"),  column("query"),  column("response"),
          column("history"), column("system"), column("tools")};
}

MessageColumns message_columns(const json& columns, const json& tags, const std::string& where) {
  MessageColumns result;
  if (!columns.is_null()) {
    result.messages = string_field(columns, "messages", "", where);
    result.system = string_field(columns, "system", "", where);
    result.tools = string_field(columns, "tools", "", where);
  }
  if (!tags.is_null()) {
    const auto tag = [&](const char* key) { return string_field(tags, key, "", where); };
    result.role_tag = tag("role_tag");
    result.content_tag = tag("content_tag");
    result.user_tag = tag("user_tag");
    result.assistant_tag = tag("assistant_tag");
    result.observation_tag = tag("observation_tag");
    result.function_tag = tag("function_tag");
    result.system_tag = tag("system_tag");
  }
  if (result.messages.empty() || result.role_tag.empty() || result.content_tag.empty())
    throw UserError(fmt::format(
        "{} should map the column `messages`, and with `tags` also role_tag and content_tag",
        where));
  return result;
}

DatasetEntry entry_from(const std::string& name, const json& description, const fs::path& info,
                        const fs::path& dataset_dir) {
  const std::string where = fmt::format("{}: entry \"{}\"", info.string(), name);
  DatasetEntry entry;
  entry.name = name;
  entry.described = description.dump();
  note_keys(description, entry.notes);
  const std::string formatting = string_field(description, "formatting", "alpaca", where);
  if (formatting != "alpaca" && formatting != "sharegpt" && formatting != "openai")
    throw UserError(
        fmt::format("{} has the formatting \"{}\", which is not known; known are alpaca, sharegpt "
                    "and openai",
                    where, formatting));
  if (bool_field(description, "ranking", false, where))
    throw UserError(
        fmt::format("{} is for ranking, which the stages pt and sft do not train on; give a data "
                    "set without `ranking`",
                    where));
  const std::string file_name = string_field(description, "file_name", "", where);
  if (file_name.empty())
    throw UserError(fmt::format(
        "{} names no file; data sets on a hub or made by a script are not fetched: download it and "
        "give its file_name",
        where));
  const fs::path path = dataset_dir / file_name;
  if (!is_there(path))
    throw UserError(fmt::format("{} names {}, which does not exist", where, path.string()));
  entry.files = files_at(path, name);
  const json& columns = field_of(description, "columns", where);
  refuse_columns(columns, where);
  if (formatting == "alpaca") {
    entry.columns = alpaca_columns(columns, where);
  } else {
    MessageColumns messages = message_columns(columns, field_of(description, "tags", where), where);
    messages.openai = formatting == "openai";
    entry.columns = std::move(messages);
  }
  const json& num_samples = field_of(description, "num_samples", where);
  if (!num_samples.is_null()) {
    if (!num_samples.is_number_unsigned() || num_samples == 0 || num_samples > kMostDrawnRows)
      throw UserError(fmt::format("{}: num_samples should be a whole number from 1 to {}, got {}",
                                  where, kMostDrawnRows, num_samples.dump()));
    entry.num_samples = num_samples.get<int64_t>();
  }
  return entry;
}

[[noreturn]] void refuse_unknown(const std::string& name, const json& info, const fs::path& path) {
  if (info.is_null())
    throw UserError(fmt::format(
        "the data set \"{}\" is no file, and there is no {} to look it up in; set dataset_dir, or "
        "give the path of a .json, .jsonl, .csv or .txt file",
        name, path.string()));
  std::vector<std::string> known;
  for (const auto& [key, entry] : info.items()) known.push_back(key);
  if (known.empty())
    throw UserError(fmt::format("the data set \"{}\" is no file, and {} names no data set at all",
                                name, path.string()));
  throw UserError(
      fmt::format("the data set \"{}\" is neither in {} nor a file; the nearest names there are {}",
                  name, path.string(), fmt::join(nearest_names(name, known), ", ")));
}

}  // namespace

std::vector<DatasetEntry> find_datasets(const std::vector<std::string>& names,
                                        const fs::path& dataset_dir, const FindFile& find_file) {
  const std::string dir = dataset_dir.string();
  if (dir == "ONLINE" || dir.starts_with("REMOTE:"))
    throw UserError(
        fmt::format("dataset_dir {} means a hub, which is not reached from here; download the data "
                    "and give its "
                    "folder",
                    dir));
  if (names.empty())
    throw UserError("no data set is named; give `dataset`, a comma list of names or files");
  const fs::path path = dataset_dir / "dataset_info.json";
  const json info = read_info(path);
  std::vector<DatasetEntry> entries;
  for (const std::string& name : names) {
    if (info.is_object() && info.contains(name)) {
      entries.push_back(entry_from(name, info[name], path, dataset_dir));
      continue;
    }
    std::error_code ignored;  // a name that no file system takes is no file
    const fs::path found = find_file ? find_file(name) : fs::path(name);
    const fs::path given = fs::exists(found, ignored) ? found : dataset_dir / name;
    if (!fs::exists(given, ignored)) refuse_unknown(name, info, path);
    entries.push_back({name, files_at(given, name), UndescribedColumns()});
  }
  return entries;
}

FormattedRow formatted_row(const nlohmann::ordered_json& record, const DatasetEntry& entry,
                           RowUse use) {
  if (const auto* columns = std::get_if<AlpacaColumns>(&entry.columns))
    return alpaca_row(record, *columns, use);
  if (const auto* columns = std::get_if<MessageColumns>(&entry.columns))
    return messages_row(record, *columns, use);
  return undescribed_row(record, use);
}

}  // namespace cairn
