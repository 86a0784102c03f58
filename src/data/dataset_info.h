// dataset_info.json: which files a data set's name stands for, and which of their columns say what.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/row_format.h"

namespace cairn {

struct UndescribedColumns {
  bool operator==(const UndescribedColumns&) const = default;
};

struct DatasetEntry {
  std::string name;
  std::vector<std::filesystem::path> files;
  // A file named by its path has none: its records are told by their columns.
  std::variant<UndescribedColumns, AlpacaColumns, MessageColumns> columns;
  std::optional<int64_t> num_samples = std::nullopt;  // a random choice of so many rows
  std::string described = {};                         // what the entry says, for a cache's key
  std::vector<std::string> notes = {};                // keys without effect, one sentence each
};

FormattedRow formatted_row(const nlohmann::ordered_json& record, const DatasetEntry& entry,
                           RowUse use);

// Where a file or folder of that name lies, or the name as it is.
using FindFile = std::function<std::filesystem::path(const std::string& name)>;

// Of each name: an entry of dataset_dir/dataset_info.json, else a file or folder itself, where
// `find_file` finds it (absent: as given) or below dataset_dir. Throws UserError for what cannot
// be, naming what is near.
std::vector<DatasetEntry> find_datasets(const std::vector<std::string>& names,
                                        const std::filesystem::path& dataset_dir,
                                        const FindFile& find_file = {});

}  // namespace cairn
