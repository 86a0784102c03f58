// RecordReader: the JSON records of a .json or .jsonl file, one by one, in memory bound by the
// largest record. It looks at the contents, not the name: an array of records, one record a line,
// and records written as JSON strings are told apart. Lines end at the byte 0x0A only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cairn {

struct Record {
  nlohmann::ordered_json value;  // an object, its members in the order of the file
  int64_t line = 0;              // where it begins, from 1
  bool string_encoded = false;   // was a JSON string holding the object
};

class RecordReader {
 public:
  static constexpr int64_t kLargestRecord = int64_t{64} << 20;  // bytes

  // Throws UserError when the file cannot be opened or is of another kind (parquet, git LFS
  // pointer).
  explicit RecordReader(std::filesystem::path path);

  // The next record, or nothing at the end. Throws DamagedFile with file, line and column for what
  // is not JSON, UserError for a record that is not an object.
  std::optional<Record> next();
  int64_t blank_lines() const { return blank_lines_; }

 private:
  static constexpr int kEndOfFile = -1;
  enum class Layout { lines, array };

  bool fill();  // reads more of the file; false at its end
  int peek();   // the byte at position_, kEndOfFile after the last
  void skip_white_space();
  void detect_layout();
  std::optional<Record> next_line();
  std::optional<Record> next_element();
  size_t element_end();
  Record parse(std::string_view text, bool whole_line);
  void check_members(const JsonExtent& extent) const;
  void consume(size_t bytes);
  [[noreturn]] void fail(size_t offset, const std::string& what) const;

  std::filesystem::path path_;
  std::ifstream stream_;
  std::string buffer_;   // what is read and not yet dropped
  size_t position_ = 0;  // of the next byte in buffer_
  bool at_end_ = false;  // nothing more to read
  int64_t line_ = 1;     // of position_
  int64_t column_ = 1;   // of position_, in bytes
  Layout layout_ = Layout::lines;
  bool began_ = false;  // an array's first element has been read
  bool finished_ = false;
  int64_t blank_lines_ = 0;
};

}  // namespace cairn
