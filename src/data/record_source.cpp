// Records of JSON, of lines of text and of comma-separated values.
#include "data/record_source.h"

#include <fstream>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "data/record_kind.h"
#include "data/utf8.h"
#include "files/input_file.h"

namespace cairn {
namespace {

using json = nlohmann::ordered_json;

class JsonRecords : public RecordSource {
 public:
  explicit JsonRecords(const std::filesystem::path& path) : reader_(path) {}
  std::optional<Record> next() override { return reader_.next(); }
  int64_t blank_lines() const override { return reader_.blank_lines(); }

 private:
  RecordReader reader_;
};

// Bytes of a text file, a byte order mark left out. Lines end at the byte 0x0A, with one 0x0D
// before it left out.
class TextFile {
 public:
  explicit TextFile(std::filesystem::path path) : path_(std::move(path)) {
    require_regular_file(path_.string());
    stream_.open(path_, std::ios::binary);
    char head[512] = {};
    stream_.read(head, sizeof(head));
    const std::string_view start(head, static_cast<size_t>(stream_.gcount()));
    refuse_bytes(path_, start);
    stream_.clear();
    stream_.seekg(start.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  }

  // -1 at the end.
  int get() { return stream_.rdbuf()->sbumpc(); }
  int peek() { return stream_.rdbuf()->sgetc(); }
  std::optional<std::string> next_line() {
    if (peek() < 0) return std::nullopt;
    std::string line;
    for (int c = get(); c >= 0 && c != '\n'; c = get()) {
      line += static_cast<char>(c);
      if (static_cast<int64_t>(line.size()) > RecordReader::kLargestRecord)
        throw DamagedFile(fmt::format("{} has a line of more than {}, the most a record may have",
                                      path_.string(), format_bytes(RecordReader::kLargestRecord)));
    }
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
};

json text_value(const std::string& text, const TextFile& file, int64_t line) {
  if (!is_valid_utf8(text))
    throw DamagedFile(fmt::format("{}, line {}: bytes that are not UTF-8; save the file as UTF-8",
                                  file.path().string(), line));
  return text;
}

class TextRecords : public RecordSource {
 public:
  explicit TextRecords(const std::filesystem::path& path) : file_(path) {}
  std::optional<Record> next() override {
    ++line_;
    auto line = file_.next_line();
    if (!line) return std::nullopt;
    return Record{json{{"text", text_value(*line, file_, line_)}}, line_, false};
  }

 private:
  TextFile file_;
  int64_t line_ = 0;
};

class CsvRecords : public RecordSource {
 public:
  explicit CsvRecords(const std::filesystem::path& path) : file_(path) {
    columns_ = next_fields();
    if (columns_.empty())
      throw UserError(
          fmt::format("{} is empty; wanted a line with the names of the columns, then a row a line",
                      path.string()));
    std::set<std::string_view> names;
    for (const std::string& column : columns_)
      if (!names.insert(column).second)
        throw DamagedFile(fmt::format("{}, line 1: two columns are named {}; rename one",
                                      path.string(), text_value(column, file_, 1).dump()));
  }

  std::optional<Record> next() override {
    while (true) {
      const int64_t begin = line_;
      const std::vector<std::string> fields = next_fields();
      if (fields.empty()) return std::nullopt;
      if (fields.size() == 1 && fields[0].empty()) {
        ++blank_lines_;
        continue;
      }
      if (fields.size() != columns_.size())
        throw DamagedFile(
            fmt::format("{}, line {}: {} fields under {} columns; put a field that holds commas or "
                        "line feeds between double quotes",
                        file_.path().string(), begin, fields.size(), columns_.size()));
      Record record{json::object(), begin, false};
      // Names differ, so none has to be looked for. An empty field is no text, as pandas reads it
      // for LLaMA-Factory.
      auto& members = record.value.get_ref<json::object_t&>();
      for (size_t i = 0; i < fields.size(); ++i)
        members.emplace_back(
            columns_[i], fields[i].empty() ? json(nullptr) : text_value(fields[i], file_, begin));
      return record;
    }
  }
  int64_t blank_lines() const override { return blank_lines_; }

 private:
  // Of one record, which quoted line feeds may spread over lines; none at the end of the file.
  std::vector<std::string> next_fields() {
    std::vector<std::string> fields;
    if (file_.peek() < 0) return fields;
    const int64_t begin = line_;
    std::string field;
    int64_t bytes = 0;
    bool quoted = false, at_start = true;
    while (true) {
      const int c = file_.get();
      if (++bytes > RecordReader::kLargestRecord || (c < 0 && quoted))
        throw DamagedFile(
            fmt::format("{}, line {}: a quoted field that does not end; is a double quote missing?",
                        file_.path().string(), begin));
      if (c == '\n') ++line_;
      if (quoted) {
        if (c != '"') {
          field += static_cast<char>(c);
        } else if (file_.peek() == '"') {
          field += static_cast<char>(file_.get());
        } else {
          quoted = false;
        }
      } else if (c == '"' && at_start) {
        quoted = true;
      } else if (c == ',' || c == '\n' || c < 0) {
        if (c != ',' && field.ends_with('\r')) field.pop_back();
        fields.push_back(std::exchange(field, {}));
        if (c != ',') return fields;
        if (static_cast<int64_t>(fields.size()) == kMostOrderedMembers)
          throw DamagedFile(
              fmt::format("{}, line {}: more than {} fields, the most a line may have",
                          file_.path().string(), begin, kMostOrderedMembers));
        at_start = true;
        continue;
      } else {
        field += static_cast<char>(c);
      }
      at_start = false;
    }
  }

  TextFile file_;
  std::vector<std::string> columns_;
  int64_t line_ = 1;
  int64_t blank_lines_ = 0;
};

}  // namespace

bool is_record_file(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".json" || ending == ".jsonl" || ending == ".csv" || ending == ".txt";
}

std::unique_ptr<RecordSource> open_records(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".txt") return std::make_unique<TextRecords>(path);
  if (ending == ".csv") return std::make_unique<CsvRecords>(path);
  return std::make_unique<JsonRecords>(path);
}

}  // namespace cairn
