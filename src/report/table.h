// Table: aligned plain text. Columns are as wide as their widest cell on a terminal; nothing is
// cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

enum class Align : uint8_t { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  // Without any title, no head is printed.
  explicit Table(std::vector<Column> columns);

  // Throws CheckFailed for more cells than columns; missing ones are empty.
  void add_row(std::vector<std::string> cells);
  // A line across the table.
  void add_rule();

  // Every line begins with `indent` and ends with a newline, without blanks before it.
  std::string to_string(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // a row without cells is a rule
};

}  // namespace cairn
