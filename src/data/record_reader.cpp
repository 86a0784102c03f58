// Finding where a record ends without parsing it, then parsing that stretch alone.
#include "data/record_reader.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "data/record_kind.h"
#include "files/input_file.h"

namespace cairn {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kReadBytes = size_t{1} << 20;

bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool all_blank(std::string_view text) { return std::all_of(text.begin(), text.end(), is_blank); }

// The reason in nlohmann's message, without its own position, which counts from the record, and
// without the text that it read if that is long.
std::string reason_of(const json::parse_error& error) {
  constexpr size_t kMostShown = 80;
  std::string text = error.what();
  const size_t colon = text.find(": ");
  if (colon != text.npos) text.erase(0, colon + 2);
  const size_t read = text.find("; last read: ");
  if (read != text.npos && text.size() - read > kMostShown) text.erase(read);
  return text;
}

}  // namespace

RecordReader::RecordReader(std::filesystem::path path) : path_(std::move(path)) {
  require_regular_file(path_.string());
  stream_.open(path_, std::ios::binary);
  fill();
  refuse_other_kinds(path_, buffer_);
  if (buffer_.starts_with("\xEF\xBB\xBF")) position_ = 3;
  detect_layout();
}

bool RecordReader::fill() {
  if (at_end_) return false;
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  stream_.read(buffer_.data() + before, kReadBytes);
  if (stream_.bad()) throw DeviceError(fmt::format("{} cannot be read to its end", path_.string()));
  buffer_.resize(before + static_cast<size_t>(stream_.gcount()));
  at_end_ = buffer_.size() == before;
  return !at_end_;
}

int RecordReader::peek() {
  while (position_ >= buffer_.size())
    if (!fill()) return kEndOfFile;
  return static_cast<unsigned char>(buffer_[position_]);
}

void RecordReader::consume(size_t bytes) {
  const auto begin = buffer_.begin() + static_cast<ptrdiff_t>(position_);
  const auto end = begin + static_cast<ptrdiff_t>(bytes);
  const auto lines = std::count(begin, end, '\n');
  if (lines > 0) {
    line_ += lines;
    column_ =
        end -
        std::find(std::make_reverse_iterator(end), std::make_reverse_iterator(begin), '\n').base() +
        1;
  } else {
    column_ += static_cast<int64_t>(bytes);
  }
  position_ += bytes;
  if (position_ >= kReadBytes) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
}

void RecordReader::skip_white_space() {
  while (is_blank(peek())) {
    size_t end = position_;
    while (end < buffer_.size() && is_blank(buffer_[end])) ++end;
    consume(end - position_);
  }
}

void RecordReader::fail(size_t offset, const std::string& what) const {
  const std::string_view before = std::string_view(buffer_).substr(position_, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const auto column = lines == 0 ? column_ + static_cast<int64_t>(offset)
                                 : static_cast<int64_t>(offset - before.rfind('\n'));
  throw DamagedFile(
      fmt::format("{}, line {}, column {}: {}", path_.string(), line_ + lines, column, what));
}

// An array begins with [, whatever the file is called. Blanks before it are dropped as they come.
void RecordReader::detect_layout() {
  skip_white_space();
  if (peek() == '[') {
    layout_ = Layout::array;
    consume(1);
  } else {
    blank_lines_ = line_ - 1;
  }
}

std::optional<Record> RecordReader::next() {
  if (finished_) return std::nullopt;
  auto record = layout_ == Layout::lines ? next_line() : next_element();
  if (!record) finished_ = true;
  return record;
}

std::optional<Record> RecordReader::next_line() {
  while (true) {
    size_t searched = 0;
    size_t end;
    while ((end = buffer_.find('\n', position_ + searched)) == buffer_.npos) {
      searched = buffer_.size() - position_;
      if (static_cast<int64_t>(searched) > kLargestRecord)
        fail(0, fmt::format("a line of more than {}, the most a record may have",
                            format_bytes(kLargestRecord)));
      if (!fill()) {
        end = buffer_.size();
        break;
      }
    }
    const bool last = end == buffer_.size();
    const std::string_view line = std::string_view(buffer_).substr(position_, end - position_);
    if (!all_blank(line)) {
      Record record = parse(line, true);
      consume(line.size() + (last ? 0 : 1));
      return record;
    }
    if (last) return std::nullopt;
    ++blank_lines_;
    consume(line.size() + 1);
  }
}

std::optional<Record> RecordReader::next_element() {
  skip_white_space();
  if (began_ && peek() == ',') {
    consume(1);
    skip_white_space();
    if (peek() == ']') fail(0, "a comma before the end of the array; remove it");
  } else if (peek() != ']' && began_ && peek() != kEndOfFile) {
    fail(0, "expected a comma or ] after a record");
  }
  if (peek() == ']') {
    consume(1);
    skip_white_space();
    if (peek() != kEndOfFile)
      fail(0, "more text after the end of the array; a file holds one array, or one record a line");
    return std::nullopt;
  }
  if (peek() == kEndOfFile) fail(0, "the file ends inside its array; is it cut off?");
  began_ = true;
  const size_t end = element_end();
  Record record = parse(std::string_view(buffer_).substr(position_, end - position_), false);
  consume(end - position_);
  return record;
}

// One past the element at position_: brackets balance outside of strings. Broken text may run to
// the end of the file; the parser then says where it broke.
size_t RecordReader::element_end() {
  int64_t depth = 0;
  bool in_string = false;
  for (size_t at = position_;; ++at) {
    if (at == buffer_.size()) {
      if (static_cast<int64_t>(at - position_) > kLargestRecord)
        fail(0, fmt::format("a record of more than {}, the most one may have",
                            format_bytes(kLargestRecord)));
      if (!fill()) return at;
    }
    const char c = buffer_[at];
    if (in_string) {
      if (c == '"') in_string = false;
      if (c == '\\' && (at + 1 < buffer_.size() || fill())) ++at;
      if (!in_string && depth == 0) return at + 1;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      if (--depth == 0) return at + 1;
    } else if (depth == 0 && (c == ',' || c == ']' || is_blank(c))) {
      return at;
    }
  }
}

void RecordReader::check_members(const JsonExtent& extent) const {
  if (extent.most_members > kMostOrderedMembers)
    fail(0, fmt::format("an object of the record has more than {} members, the most one may have",
                        kMostOrderedMembers));
}

Record RecordReader::parse(std::string_view text, bool whole_line) {
  Record record;
  record.line = line_;
  const JsonExtent extent = measure_json(text);
  if (extent.depth > kDeepestJson)
    fail(0, fmt::format("the record nests more than {} levels deep", kDeepestJson));
  // The parser would end there and drop the rest.
  if (const size_t nul = text.find('\0'); nul != text.npos)
    fail(nul, "a byte of zero, which no text holds; save the file as UTF-8 text");
  check_members(extent);
  try {
    record.value = json::parse(text);
  } catch (const json::parse_error& error) {
    const size_t offset = error.byte > 0 ? std::min(error.byte - 1, text.size()) : 0;
    const char* hint = "";
    if (whole_line && offset == text.size())
      hint = "; the line ends too early: is it torn, or is one record spread over several lines?";
    fail(offset, reason_of(error) + hint);
  } catch (const json::out_of_range&) {
    fail(0, "the record holds a number that is out of range");
  }
  if (record.value.is_string()) {
    const auto& inner_text = record.value.get_ref<const std::string&>();
    const JsonExtent inner_extent = measure_json(inner_text);
    const bool refused =
        inner_extent.depth > kDeepestJson || inner_text.find('\0') != inner_text.npos;
    // Only of JSON does its extent say anything.
    if (!refused && json::accept(inner_text)) check_members(inner_extent);
    json inner = refused ? json() : json::parse(inner_text, nullptr, false);
    if (inner.is_object()) {
      record.value = std::move(inner);
      record.string_encoded = true;
    }
  }
  if (!record.value.is_object())
    throw UserError(
        fmt::format("{}, line {}: a record should be an object such as {{\"instruction\": ..., "
                    "\"output\": ...}}, "
                    "but is a JSON {}",
                    path_.string(), line_, record.value.type_name()));
  return record;
}

}  // namespace cairn
