// dataset_info.json: which files a data set's name stands for, and which of their columns say what.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/row_format.h"

namespace cairn {

struct DatasetEntry {
  std::string name;
  std::vector<std::filesystem::path> files;
  std::variant<AlpacaColumns, MessageColumns> columns;
  std::optional<int64_t> num_samples;  // a random choice of so many rows
};

// Of each name in the comma list: an entry of dataset_dir/dataset_info.json, else a file or folder
// itself, as given or below dataset_dir. Throws UserError for what cannot be, naming what is near.
std::vector<DatasetEntry> find_datasets(const std::string& names,
                                        const std::filesystem::path& dataset_dir);

}  // namespace cairn
