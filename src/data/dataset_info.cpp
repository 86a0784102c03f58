// Looking up data sets, and refusing by name what is not built.
#include "data/dataset_info.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/json_field.h"
#include "data/nearest_names.h"
#include "files/json_file.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> split_list(const std::string& names) {
  std::vector<std::string> list;
  size_t begin = 0;
  while (begin <= names.size()) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const size_t first = names.find_first_not_of(" \t", begin);
    const size_t last = names.find_last_not_of(" \t", end == 0 ? 0 : end - 1);
    if (first < end && last >= first && last != names.npos)
      list.push_back(names.substr(first, last - first + 1));
    begin = end + 1;
  }
  return list;
}

bool is_record_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".json" || extension == ".jsonl";
}

// A file, or the files of a folder in the order of their names.
std::vector<fs::path> files_at(const fs::path& path, const std::string& name) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty())
      throw UserError(fmt::format("the data set \"{}\" is the folder {}, which holds no file", name,
                                  path.string()));
  } else {
    files.push_back(path);
  }
  for (const fs::path& file : files)
    if (!is_record_file(file))
      throw UserError(
          fmt::format("the data set \"{}\" is in {}; only .json and .jsonl are built, "
                      "so convert it first",
                      name, file.string()));
  return files;
}

json read_info(const fs::path& path) {
  return fs::exists(path) ? read_json_object(path.string()) : json(nullptr);
}

void refuse_columns(const json& columns, const std::string& where) {
  if (columns.is_null()) return;
  for (const char* key : {"tools", "images", "videos", "audios", "chosen", "rejected", "kto_tag"})
    if (!field_of(columns, key, where).is_null())
      throw UserError(
          fmt::format("{} maps the column `{}`, which is not built; built are prompt, query, "
                      "response, history, "
                      "messages and system",
                      where, key));
}

// With `columns` or `tags` present, LLaMA-Factory takes every one not listed as absent.
AlpacaColumns alpaca_columns(const json& columns, const std::string& where) {
  if (columns.is_null()) return {};
  const auto column = [&](const char* key) { return string_field(columns, key, "", where); };
  return {column("prompt"), column("query"), column("response"), column("history"),
          column("system")};
}

MessageColumns message_columns(const json& columns, const json& tags, const std::string& where) {
  MessageColumns result;
  if (!columns.is_null()) {
    result.messages = string_field(columns, "messages", "", where);
    result.system = string_field(columns, "system", "", where);
  }
  if (!tags.is_null()) {
    const auto tag = [&](const char* key) { return string_field(tags, key, "", where); };
    result.role_tag = tag("role_tag");
    result.content_tag = tag("content_tag");
    result.user_tag = tag("user_tag");
    result.assistant_tag = tag("assistant_tag");
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
  const std::string formatting = string_field(description, "formatting", "alpaca", where);
  if (formatting != "alpaca" && formatting != "sharegpt" && formatting != "openai")
    throw UserError(
        fmt::format("{} has the formatting \"{}\", which is not known; known are alpaca, sharegpt "
                    "and openai",
                    where, formatting));
  if (bool_field(description, "ranking", false, where))
    throw UserError(
        fmt::format("{} is for ranking, but only supervised fine-tuning is built", where));
  const std::string file_name = string_field(description, "file_name", "", where);
  if (file_name.empty())
    throw UserError(fmt::format(
        "{} names no file; data sets on a hub or made by a script are not fetched: download it and "
        "give its file_name",
        where));
  const fs::path path = dataset_dir / file_name;
  if (!fs::exists(path))
    throw UserError(fmt::format("{} names {}, which does not exist", where, path.string()));
  entry.files = files_at(path, name);
  const json& columns = field_of(description, "columns", where);
  refuse_columns(columns, where);
  if (formatting == "alpaca")
    entry.columns = alpaca_columns(columns, where);
  else
    entry.columns = message_columns(columns, field_of(description, "tags", where), where);
  const json& num_samples = field_of(description, "num_samples", where);
  if (!num_samples.is_null()) {
    if (!num_samples.is_number_unsigned() || num_samples == 0)
      throw UserError(fmt::format("{}: num_samples should be a whole number above 0, got {}", where,
                                  num_samples.dump()));
    entry.num_samples = num_samples.get<int64_t>();
  }
  return entry;
}

[[noreturn]] void refuse_unknown(const std::string& name, const json& info, const fs::path& path) {
  if (info.is_null())
    throw UserError(fmt::format(
        "the data set \"{}\" is no file, and there is no {} to look it up in; set dataset_dir, or "
        "give the path of a .json or .jsonl file",
        name, path.string()));
  std::vector<std::string> known;
  for (const auto& [key, entry] : info.items()) known.push_back(key);
  throw UserError(
      fmt::format("the data set \"{}\" is neither in {} nor a file; the nearest names there are {}",
                  name, path.string(), fmt::join(nearest_names(name, known), ", ")));
}

}  // namespace

std::vector<DatasetEntry> find_datasets(const std::string& names, const fs::path& dataset_dir) {
  const std::string dir = dataset_dir.string();
  if (dir == "ONLINE" || dir.starts_with("REMOTE:"))
    throw UserError(
        fmt::format("dataset_dir {} means a hub, which is not reached from here; download the data "
                    "and give its "
                    "folder",
                    dir));
  const std::vector<std::string> list = split_list(names);
  if (list.empty())
    throw UserError("no data set is named; give `dataset`, a comma list of names or files");
  const fs::path path = dataset_dir / "dataset_info.json";
  const json info = read_info(path);
  std::vector<DatasetEntry> entries;
  for (const std::string& name : list) {
    if (info.is_object() && info.contains(name)) {
      entries.push_back(entry_from(name, info[name], path, dataset_dir));
      continue;
    }
    const fs::path given = fs::exists(name) ? fs::path(name) : dataset_dir / name;
    if (!fs::exists(given)) refuse_unknown(name, info, path);
    entries.push_back({name, files_at(given, name), AlpacaColumns(), std::nullopt});
  }
  return entries;
}

}  // namespace cairn
