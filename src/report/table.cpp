// Laying out a table: widths first, then lines. Blanks at the ends of lines are dropped, so that a
// table can be compared and pasted.
#include "report/table.h"

#include <algorithm>

#include "base/error.h"
#include "report/figures.h"

namespace cairn {
namespace {

constexpr std::string_view kGap = "  ";

std::string blanks(int count) { return std::string(static_cast<size_t>(std::max(count, 0)), ' '); }

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  CAIRN_CHECK(!columns_.empty(), "[table] wanted at least one column, got none");
}

void Table::add_row(std::vector<std::string> cells) {
  CAIRN_CHECK(cells.size() <= columns_.size(), "[table] wanted at most {} cells, got {}",
              columns_.size(), cells.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::string Table::to_string(std::string_view indent) const {
  std::vector<std::string> titles;
  std::vector<int> widths;
  bool has_head = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    has_head = has_head || !titles[i].empty();
    widths.push_back(display_width(titles[i]));
    for (const auto& row : rows_)
      if (!row.empty()) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  int total = static_cast<int>(kGap.size() * (columns_.size() - 1));
  for (int width : widths) total += width;

  std::string text;
  const auto add_line = [&](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line;
    text += '\n';
  };
  const auto add_cells = [&](const std::vector<std::string>& cells) {
    std::string line(indent);
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding = blanks(widths[i] - display_width(cells[i]));
      if (i > 0) line += kGap;
      line += columns_[i].align == Align::right ? padding + cells[i] : cells[i] + padding;
    }
    add_line(std::move(line));
  };
  const auto rule = [&] {
    add_line(std::string(indent) + std::string(static_cast<size_t>(total), '-'));
  };

  if (has_head) {
    add_cells(titles);
    rule();
  }
  for (const auto& row : rows_) {
    if (row.empty())
      rule();
    else
      add_cells(row);
  }
  return text;
}

}  // namespace cairn
