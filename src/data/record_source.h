// RecordSource: the records of a data file, one by one, in memory bound by the largest record. JSON
// is told by its contents; a .csv has its columns in the first line, and null in its empty fields;
// a .txt is a record {"text"} a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/record_reader.h"

namespace cairn {

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // The next record, or nothing at the end. Throws DamagedFile with file, line and column.
  virtual std::optional<Record> next() = 0;
  virtual int64_t blank_lines() const { return 0; }
};

// By the name's ending. Throws UserError when the file cannot be opened or is of another kind.
std::unique_ptr<RecordSource> open_records(const std::filesystem::path& path);

// Whether files with that ending are read: .json, .jsonl, .csv, .txt.
bool is_record_file(const std::filesystem::path& path);

}  // namespace cairn
