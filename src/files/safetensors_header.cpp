#include "files/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"

namespace cairn {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

// One entry as it was read.
struct Entry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

// Receives the header token by token, so that duplicate keys are seen and no tree is built.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  bool start_object(size_t) override {
    ++depth_;
    if (skipping()) return true;
    if (depth_ > 2 || list_) refuse_value("an object");
    if (depth_ == 2 && !in_metadata_) entries.push_back({key_, {}, {}, {}});
    return true;
  }
  bool end_object() override {
    if (skipping()) return leave_skipped();
    if (depth_-- == 2) {
      if (!in_metadata_) finish_entry();
      in_metadata_ = false;
    }
    return true;
  }
  bool start_array(size_t) override {
    ++depth_;
    if (skipping()) return true;
    if (depth_ != 3 || in_metadata_ || list_) refuse_value("an array");
    Entry& entry = entries.back();
    if (field_ == "shape")
      list_ = &entry.shape.emplace();
    else if (field_ == "data_offsets")
      list_ = &entry.offsets.emplace();
    else
      refuse_value("an array");
    return true;
  }
  bool end_array() override {
    if (skipping()) return leave_skipped();
    --depth_;
    list_ = nullptr;
    return true;
  }
  bool key(string_t& text) override {
    if (skipping()) return true;
    if (depth_ == 1) {
      key_ = text;
      in_metadata_ = text == kMetadataKey;
      if (in_metadata_ && std::exchange(metadata_seen_, true)) refuse_duplicate(text);
    } else if (in_metadata_) {
      field_ = text;
      if (metadata.contains(text)) refuse_duplicate(text);
    } else {
      field_ = text;
      const Entry& entry = entries.back();
      if ((text == "dtype" && entry.dtype) || (text == "shape" && entry.shape) ||
          (text == "data_offsets" && entry.offsets))
        refuse_duplicate(key_ + "." + text);
      if (text != "dtype" && text != "shape" && text != "data_offsets") skip_from_ = depth_;
    }
    return true;
  }
  bool string(string_t& text) override {
    if (skip_scalar()) return true;
    if (depth_ == 2 && in_metadata_)
      metadata.emplace(field_, text);
    else if (depth_ == 2 && field_ == "dtype")
      entries.back().dtype = text;
    else
      refuse_value("a string");
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (skip_scalar()) return true;
    if (!list_) refuse_value("a number");
    list_->push_back(value);
    return true;
  }
  bool number_integer(number_integer_t) override { return scalar("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return scalar("a number that is not a whole one below 2^64");
  }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool null() override {
    // The reference reader takes null for metadata that are absent.
    return depth_ == 1 && in_metadata_ ? true : scalar("null");
  }
  bool binary(binary_t&) override { return scalar("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw DamagedFile(
        fmt::format("{} has a safetensors header that is not valid JSON at its byte {}: "
                    "download or write it again.",
                    path_, position));
  }

 private:
  // The value of an unknown field, whatever it is, is passed over.
  bool skipping() const { return skip_from_ > 0; }
  bool skip_scalar() {
    if (!skipping()) return false;
    if (depth_ == skip_from_) skip_from_ = 0;
    return true;
  }
  bool leave_skipped() {
    if (--depth_ == skip_from_) skip_from_ = 0;
    return true;
  }
  bool scalar(std::string_view kind) {
    if (!skip_scalar()) refuse_value(kind);
    return true;
  }
  void finish_entry() {
    const Entry& entry = entries.back();
    if (!entry.dtype || !entry.shape || !entry.offsets)
      throw DamagedFile(fmt::format("{} describes tensor {} without its {}.", path_, entry.name,
                                    !entry.dtype   ? "dtype"
                                    : !entry.shape ? "shape"
                                                   : "data_offsets"));
  }
  [[noreturn]] void refuse_duplicate(const std::string& what) {
    throw DamagedFile(fmt::format("{} names {} twice in its safetensors header.", path_, what));
  }
  [[noreturn]] void refuse_value(std::string_view kind) {
    throw DamagedFile(fmt::format(
        "{} has {} in its safetensors header where {} was expected (near \"{}\").", path_, kind,
        depth_ == 0 || list_ ? (list_ ? "a size" : "an object")
        : in_metadata_       ? "text of the metadata"
                             : "dtype, shape and data_offsets of a tensor",
        key_));
  }

  const std::string& path_;
  int depth_ = 0;
  int skip_from_ = 0;  // > 0: the depth of the entry whose unknown field is passed over
  bool in_metadata_ = false;
  bool metadata_seen_ = false;
  std::string key_;    // at depth 1
  std::string field_;  // at depth 2
  std::vector<uint64_t>* list_ = nullptr;
};

// More than four extents fold into the last: the order of elements is the same.
Shape folded_shape(const std::vector<uint64_t>& extents) {
  Shape shape;
  std::array<int64_t, Shape::kMaxRank> folded{};
  size_t rank = 0;
  for (uint64_t extent : extents) {
    if (rank < folded.size())
      folded[rank++] = static_cast<int64_t>(extent);
    else
      folded.back() *= static_cast<int64_t>(extent);
  }
  switch (rank) {
    case 0:
      return {};
    case 1:
      return {folded[0]};
    case 2:
      return {folded[0], folded[1]};
    case 3:
      return {folded[0], folded[1], folded[2]};
    default:
      return {folded[0], folded[1], folded[2], folded[3]};
  }
}

class HeaderChecker {
 public:
  HeaderChecker(const std::string& path, int64_t data_begin, int64_t file_bytes)
      : path_(path), data_begin_(data_begin), file_bytes_(file_bytes) {}

  TensorInfo check_entry(const Entry& entry) const {
    const auto type = file_type_of_safetensors(*entry.dtype);
    if (!type)
      throw DamagedFile(fmt::format("{} stores tensor {} as {}, which is no safetensors dtype.",
                                    path_, entry.name, *entry.dtype));
    const std::vector<uint64_t>& offsets = *entry.offsets;
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > INT64_MAX)
      throw DamagedFile(fmt::format(
          "{} gives tensor {} data_offsets that are not a begin and an end.", path_, entry.name));
    const uint64_t wanted = bytes_of(entry, *type);
    if (offsets[1] - offsets[0] != wanted)
      throw DamagedFile(fmt::format("{} gives tensor {} ({} {}) {} bytes where its shape needs {}.",
                                    path_, entry.name, *entry.dtype, shape_text(entry),
                                    offsets[1] - offsets[0], wanted));
    TensorInfo info;
    info.name = entry.name;
    info.type = *type;
    info.shape = folded_shape(*entry.shape);
    info.offset = static_cast<int64_t>(offsets[0]);
    info.bytes = static_cast<int64_t>(wanted);
    return info;
  }

  // Sorts, checks that the data are covered once and end with the file, and moves the offsets to
  // count from its beginning.
  void check_layout(std::vector<TensorInfo>& tensors) const {
    std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
      return std::pair(a.offset, a.offset + a.bytes) < std::pair(b.offset, b.offset + b.bytes);
    });
    int64_t end = 0;
    for (const TensorInfo& info : tensors) {
      if (info.offset != end)
        throw DamagedFile(
            fmt::format("{} has tensor {} begin at byte {} of the data where byte {} was "
                        "expected: tensors must neither overlap nor leave holes.",
                        path_, info.name, info.offset, end));
      end += info.bytes;
    }
    const int64_t here = file_bytes_ - data_begin_;
    if (end > here)
      throw DamagedFile(
          fmt::format("{} is cut short: its header describes a file of {} bytes, but it "
                      "has {}: download it again.",
                      path_, whole_file(end), file_bytes_));
    if (end < here)
      throw DamagedFile(
          fmt::format("{} has {} bytes where its header describes {}: what follows the "
                      "tensors does not belong there: download it again.",
                      path_, file_bytes_, whole_file(end)));
    for (TensorInfo& info : tensors) info.offset += data_begin_;
  }

  void check_names(const std::vector<TensorInfo>& tensors) const {
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const TensorInfo& info : tensors) names.push_back(info.name);
    std::sort(names.begin(), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end());
    if (twin != names.end())
      throw DamagedFile(fmt::format("{} names tensor {} twice in its header.", path_, *twin));
  }

 private:
  // Unsigned: an end that the header made up may be near 2^63.
  uint64_t whole_file(int64_t end) const {
    return static_cast<uint64_t>(end) + static_cast<uint64_t>(data_begin_);
  }

  std::string shape_text(const Entry& entry) const {
    std::string text;
    for (size_t axis = 0; axis < entry.shape->size() && axis < 8; ++axis)
      text += (axis ? ", " : "") + std::to_string((*entry.shape)[axis]);
    return "[" + text + (entry.shape->size() > 8 ? ", ..." : "") + "]";
  }

  // Extents beyond the first zero count too: nobody may multiply them later and overflow.
  uint64_t bytes_of(const Entry& entry, FileType type) const {
    uint64_t product = 1;
    bool empty = false;
    for (uint64_t extent : *entry.shape) {
      empty |= extent == 0;
      if (extent > INT64_MAX ||
          (extent != 0 && __builtin_mul_overflow(product, extent, &product)) || product > INT64_MAX)
        throw DamagedFile(fmt::format("{} gives tensor {} the shape {}, which overflows 64 bits.",
                                      path_, entry.name, shape_text(entry)));
    }
    const auto block = static_cast<uint64_t>(block_elements(type));
    uint64_t bytes = 0;
    if (product % block != 0 && !empty)
      throw DamagedFile(fmt::format("{} gives tensor {} ({} {}) a size that is not whole bytes.",
                                    path_, entry.name, *entry.dtype, shape_text(entry)));
    if (__builtin_mul_overflow(product / block, static_cast<uint64_t>(block_bytes(type)), &bytes) ||
        bytes > INT64_MAX)
      throw DamagedFile(fmt::format("{} gives tensor {} the shape {}, which overflows 64 bits.",
                                    path_, entry.name, shape_text(entry)));
    return empty ? 0 : bytes;
  }

  const std::string& path_;
  int64_t data_begin_;
  int64_t file_bytes_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_bytes,
                                           const std::string& path) {
  if (!text.starts_with('{'))
    throw DamagedFile(
        fmt::format("{} has a safetensors header that does not begin with '{{'.", path));
  // The parser would end there and drop the rest.
  if (const size_t nul = text.find('\0'); nul != text.npos)
    throw DamagedFile(fmt::format(
        "{} has a zero at byte {} of its safetensors header, where JSON text was expected: "
        "download or write it again.",
        path, nul));
  HeaderReader reader(path);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header;
  header.metadata = std::move(reader.metadata);
  header.tensors.reserve(reader.entries.size());
  const HeaderChecker checker(path, 8 + static_cast<int64_t>(text.size()), file_bytes);
  for (const Entry& entry : reader.entries) header.tensors.push_back(checker.check_entry(entry));
  checker.check_names(header.tensors);
  checker.check_layout(header.tensors);
  return header;
}

}  // namespace cairn
