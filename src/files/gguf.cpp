#include "files/gguf.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "base/utf8.h"
#include "files/file_kind.h"
#include "files/gguf_cursor.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr uint32_t kDefaultAlignment = 32;
constexpr uint32_t kLeastAlignment = 8;
constexpr uint32_t kMaxAlignment = 1u << 16;
constexpr uint32_t kMaxDimensions = 4;
constexpr size_t kMaxTensorName = 64;
constexpr size_t kMaxKey = 65535;
constexpr uint64_t kMaxArray = uint64_t{1} << 24;
constexpr int kMaxArrayDepth = 4;
constexpr std::string_view kAlignmentKey = "general.alignment";

enum class ValueType : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};
constexpr uint32_t kNumValueTypes = 13;

// The least that a value of the type takes in the file.
uint64_t least_bytes_of(ValueType type) {
  constexpr std::array<uint64_t, kNumValueTypes> bytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return bytes[static_cast<size_t>(type)];
}

ValueType take_type(GgufCursor& cursor, const std::string& key) {
  const auto type = cursor.take<uint32_t>("the type of a value");
  if (type >= kNumValueTypes)
    throw DamagedFile(fmt::format("{} gives {} the value type {}, which GGUF does not know.",
                                  cursor.path(), key, type));
  return static_cast<ValueType>(type);
}

json take_value(GgufCursor& cursor, ValueType type, const std::string& key, int depth);

bool take_boolean(GgufCursor& cursor, const std::string& key) {
  const auto value = cursor.take<uint8_t>(key);
  if (value <= 1) return value == 1;
  throw DamagedFile(fmt::format("{} gives the boolean {} as {}, where 0 or 1 was expected.",
                                cursor.path(), key, value));
}

json take_array(GgufCursor& cursor, const std::string& key, int depth) {
  if (depth >= kMaxArrayDepth)
    throw DamagedFile(fmt::format("{} nests the arrays of {} more than {} deep.", cursor.path(),
                                  key, kMaxArrayDepth));
  const ValueType type = take_type(cursor, key);
  const auto count = cursor.take<uint64_t>("the length of an array");
  cursor.require_count(count, least_bytes_of(type), "elements of " + key);
  if (count > kMaxArray)
    throw DamagedFile(fmt::format("{} claims {} elements of {}, where {} is the most.",
                                  cursor.path(), count, key, kMaxArray));
  json array = json::array();
  for (uint64_t n = 0; n < count; ++n) array.push_back(take_value(cursor, type, key, depth + 1));
  return array;
}

json take_value(GgufCursor& cursor, ValueType type, const std::string& key, int depth) {
  switch (type) {
    case ValueType::u8:
      return cursor.take<uint8_t>(key);
    case ValueType::i8:
      return cursor.take<int8_t>(key);
    case ValueType::u16:
      return cursor.take<uint16_t>(key);
    case ValueType::i16:
      return cursor.take<int16_t>(key);
    case ValueType::u32:
      return cursor.take<uint32_t>(key);
    case ValueType::i32:
      return cursor.take<int32_t>(key);
    case ValueType::f32:
      return cursor.take<float>(key);
    case ValueType::boolean:
      return take_boolean(cursor, key);
    case ValueType::string:
      return cursor.take_string(key);
    case ValueType::array:
      return take_array(cursor, key, depth);
    case ValueType::u64:
      return cursor.take<uint64_t>(key);
    case ValueType::i64:
      return cursor.take<int64_t>(key);
    case ValueType::f64:
      return cursor.take<double>(key);
  }
  return nullptr;
}

uint32_t take_version(GgufCursor& cursor, const InputFile& file) {
  constexpr size_t kMagicBytes = 4;
  std::array<char, kMagicBytes> magic{};
  if (file.size() >= static_cast<int64_t>(kMagicBytes))
    for (char& letter : magic) letter = cursor.take<char>("the magic");
  if (std::string_view(magic.data(), magic.size()) != "GGUF")
    throw DamagedFile(
        refusal_of_kind(file, WantedKind::gguf)
            .value_or(fmt::format("{} does not begin as a GGUF file does.", file.path())));
  const auto version = cursor.take<uint32_t>("the version");
  if (version == 2 || version == 3) return version;
  if ((version & 0xffffu) == 0 && version != 0)
    throw UserError(
        fmt::format("{} is a big-endian GGUF: convert it to little-endian.", file.path()));
  throw UserError(
      fmt::format("{} is GGUF version {}: Cairn reads versions 2 and 3; convert it again.",
                  file.path(), version));
}

// 1e-5 stored as f32 is 9.99999975e-06 as f64; what was meant is the shortest decimal of the f32.
double shortest_decimal(double value) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value) return value;
  const std::string text = fmt::format("{}", narrow);
  std::from_chars(text.data(), text.data() + text.size(), value);  // in any locale
  return value;
}

uint32_t alignment_of(ValueType type, const json& value, const std::string& path) {
  const bool valid = type == ValueType::u32 && value.get<uint32_t>() <= kMaxAlignment &&
                     value.get<uint32_t>() >= kLeastAlignment &&
                     std::has_single_bit(value.get<uint32_t>());
  if (!valid)
    throw DamagedFile(fmt::format(
        "{} sets {} to {}, where a u32 that is a power of two from {} to {} was "
        "expected.",
        path, kAlignmentKey, value.is_number() ? value.dump() : std::string(value.type_name()),
        kLeastAlignment, kMaxAlignment));
  return value.get<uint32_t>();
}

// dims[0] is the fastest, so the last of a shape.
void take_shape(GgufCursor& cursor, TensorInfo& info, uint64_t& elements) {
  const auto rank = cursor.take<uint32_t>("the rank of a tensor");
  if (rank == 0 || rank > kMaxDimensions)
    throw DamagedFile(fmt::format("{} gives tensor {} {} dimensions, where 1 to {} were expected.",
                                  cursor.path(), info.name, rank, kMaxDimensions));
  std::array<int64_t, kMaxDimensions> dims{};
  elements = 1;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    const auto extent = cursor.take<uint64_t>("a dimension of a tensor");
    if (extent == 0 || extent > INT64_MAX)
      throw DamagedFile(
          fmt::format("{} gives tensor {} a dimension of {}, where at least 1 was expected.",
                      cursor.path(), info.name, static_cast<int64_t>(extent)));
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > INT64_MAX)
      throw DamagedFile(
          fmt::format("{} gives tensor {} dimensions whose product overflows 64 bits.",
                      cursor.path(), info.name));
    dims[axis] = static_cast<int64_t>(extent);
  }
  switch (rank) {
    case 1:
      info.shape = {dims[0]};
      break;
    case 2:
      info.shape = {dims[1], dims[0]};
      break;
    case 3:
      info.shape = {dims[2], dims[1], dims[0]};
      break;
    default:
      info.shape = {dims[3], dims[2], dims[1], dims[0]};
  }
}

TensorInfo take_tensor(GgufCursor& cursor) {
  TensorInfo info;
  info.name = cursor.take_string("the name of a tensor");
  if (info.name.empty() || info.name.size() > kMaxTensorName)
    throw DamagedFile(fmt::format("{} has a tensor name of {} bytes, where 1 to {} were expected.",
                                  cursor.path(), info.name.size(), kMaxTensorName));
  if (!is_valid_utf8(info.name))
    throw DamagedFile(
        fmt::format("{} has a tensor name that is not UTF-8: download it again.", cursor.path()));
  uint64_t elements = 0;
  take_shape(cursor, info, elements);
  const auto id = cursor.take<uint32_t>("the type of a tensor");
  const auto type = file_type_of_ggml(id);
  if (!type)
    throw UserError(fmt::format("{} stores tensor {} as ggml type {}, which Cairn does not know.",
                                cursor.path(), info.name, id));
  info.type = *type;
  const auto block = static_cast<uint64_t>(block_elements(info.type));
  if (static_cast<uint64_t>(info.shape[-1]) % block != 0)
    throw DamagedFile(
        fmt::format("{} gives tensor {} rows of {} elements, which are not whole blocks of "
                    "{} ({}).",
                    cursor.path(), info.name, info.shape[-1], block, name_of(info.type)));
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / block, static_cast<uint64_t>(block_bytes(info.type)),
                             &bytes) ||
      bytes > INT64_MAX)
    throw DamagedFile(
        fmt::format("{} gives tensor {} a size that overflows 64 bits.", cursor.path(), info.name));
  info.bytes = static_cast<int64_t>(bytes);
  const auto offset = cursor.take<uint64_t>("the offset of a tensor");
  if (offset > INT64_MAX)
    throw DamagedFile(fmt::format("{} places tensor {} at byte {} of the data, beyond any file.",
                                  cursor.path(), info.name, offset));
  info.offset = static_cast<int64_t>(offset);
  return info;
}

void require_unique_names(const std::vector<TensorInfo>& tensors, const std::string& path) {
  std::vector<std::string_view> names;
  for (const TensorInfo& info : tensors) names.push_back(info.name);
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end()) throw DamagedFile(fmt::format("{} names tensor {} twice.", path, *twin));
}

// Moves offsets to count from the file's beginning, once each tensor is known to lie in it alone.
void place_tensors(std::vector<TensorInfo>& tensors, int64_t infos_end, uint32_t alignment,
                   const InputFile& file) {
  require_unique_names(tensors, file.path());
  const int64_t begin = (infos_end + alignment - 1) / alignment * alignment;
  std::vector<const TensorInfo*> order;
  for (TensorInfo& info : tensors) {
    if (info.offset % alignment != 0)
      throw DamagedFile(
          fmt::format("{} places tensor {} at byte {} of the data, which is no multiple of "
                      "its alignment {}.",
                      file.path(), info.name, info.offset, alignment));
    const int64_t left = file.size() - begin;
    if (info.bytes > left || info.offset > left - info.bytes)
      throw DamagedFile(
          fmt::format("{} is cut short: tensor {} needs {} bytes at byte {} of the data, but "
                      "only {} bytes of data are there: download it again.",
                      file.path(), info.name, info.bytes, info.offset, std::max<int64_t>(left, 0)));
    info.offset += begin;
    order.push_back(&info);
  }
  std::sort(order.begin(), order.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
  for (size_t at = 1; at < order.size(); ++at)
    if (order[at - 1]->offset + order[at - 1]->bytes > order[at]->offset)
      throw DamagedFile(fmt::format("{} places tensors {} and {} over each other.", file.path(),
                                    order[at - 1]->name, order[at]->name));
}

}  // namespace

GgufFile::GgufFile(std::string path) {
  files_.emplace_back(std::move(path));
  const InputFile& file = files_.front();
  GgufCursor cursor(file);
  version_ = take_version(cursor, file);
  const auto num_tensors = cursor.take<uint64_t>("the number of tensors");
  const auto num_values = cursor.take<uint64_t>("the number of metadata values");
  // The least entry: a key of one letter and a byte; a tensor of one letter and one dimension.
  cursor.require_count(num_values, 8 + 1 + 4 + 1, "metadata values");
  cursor.require_count(num_tensors, 8 + 1 + 4 + 8 + 4 + 8, "tensors");
  uint32_t alignment = kDefaultAlignment;
  for (uint64_t n = 0; n < num_values; ++n) {
    std::string key = cursor.take_string("a key");
    if (key.empty() || key.size() > kMaxKey)
      throw DamagedFile(
          fmt::format("{} has a metadata key of {} bytes, where 1 to {} were expected.",
                      file.path(), key.size(), kMaxKey));
    const ValueType type = take_type(cursor, key);
    json value = take_value(cursor, type, key, 0);
    if (key == kAlignmentKey) alignment = alignment_of(type, value, file.path());
    if (!metadata_.emplace(key, std::move(value)).second)
      throw DamagedFile(fmt::format("{} has the metadata key {} twice.", file.path(), key));
  }
  for (uint64_t n = 0; n < num_tensors; ++n) tensors_.push_back(take_tensor(cursor));
  place_tensors(tensors_, cursor.position(), alignment, file);
}

void GgufFile::append(GgufFile part) {
  for (TensorInfo& info : part.tensors_) {
    info.file = static_cast<int>(files_.size());
    tensors_.push_back(std::move(info));
  }
  files_.push_back(std::move(part.files_.front()));
  require_unique_names(tensors_, path());
}

const json* GgufFile::find(std::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

const json& GgufFile::require(std::string_view key) const {
  if (const json* value = find(key)) return *value;
  throw DamagedFile(fmt::format("{} lacks the metadata key {}.", path(), key));
}

std::string GgufFile::text(std::string_view key) const {
  const json& value = require(key);
  if (value.is_string() && !is_valid_utf8(value.get_ref<const std::string&>()))
    throw DamagedFile(
        fmt::format("{} has bytes in {} that are not UTF-8: download it again.", path(), key));
  if (value.is_string()) return value.get<std::string>();
  throw DamagedFile(
      fmt::format("{} gives {} as a {}, where text was expected.", path(), key, value.type_name()));
}

int64_t GgufFile::count(std::string_view key) const {
  const json& value = require(key);
  const bool whole = value.is_number_unsigned()
                         ? value.get<uint64_t>() <= (uint64_t{1} << 31)
                         : value.is_number_integer() && value.get<int64_t>() >= 0;
  if (whole) return value.get<int64_t>();
  throw DamagedFile(
      fmt::format("{} gives {} as {}, where a whole number from 0 to 2^31 was expected.", path(),
                  key, value.is_number() ? value.dump() : std::string(value.type_name())));
}

int64_t GgufFile::count(std::string_view key, int64_t fallback) const {
  return find(key) ? count(key) : fallback;
}

double GgufFile::number(std::string_view key) const {
  const json& value = require(key);
  if (value.is_number_float()) return shortest_decimal(value.get<double>());
  if (value.is_number()) return value.get<double>();
  throw DamagedFile(fmt::format("{} gives {} as a {}, where a number was expected.", path(), key,
                                value.type_name()));
}

double GgufFile::number(std::string_view key, double fallback) const {
  return find(key) ? number(key) : fallback;
}

bool GgufFile::flag(std::string_view key, bool fallback) const {
  const json* value = find(key);
  if (!value) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  throw DamagedFile(fmt::format("{} gives {} as a {}, where a boolean was expected.", path(), key,
                                value->type_name()));
}

bool is_gguf(const std::string& path) {
  const InputFile file(path);
  std::array<char, 4> magic{};
  if (file.size() < static_cast<int64_t>(magic.size())) return false;
  file.read(0, std::as_writable_bytes(std::span(magic)));
  return std::string_view(magic.data(), magic.size()) == "GGUF";
}

}  // namespace cairn
