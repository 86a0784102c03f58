// dataset_info.json: which files a data set's name stands for, and which of their columns say what.
#pragma once

#include <cstdint>
#include <filesystem>
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

// Of each name in the comma list: an entry of dataset_dir/dataset_info.json, else a file or folder
// itself, as given or below dataset_dir. Throws UserError for what cannot be, naming what is near.
std::vector<DatasetEntry> find_datasets(const std::string& names,
                                        const std::filesystem::path& dataset_dir);

}  // namespace cairn
