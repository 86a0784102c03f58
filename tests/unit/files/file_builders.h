// Small files for the tests of the files room: a folder that removes itself, and builders of
// safetensors and GGUF files that can be bent in any place.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "files/tensor_source.h"

namespace cairn::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cairn-files-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(std::string_view name) const { return (path_ / name).string(); }
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return file(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_all(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <typename T>
std::string bytes_of(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// A safetensors file of this header and these data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return bytes_of(uint64_t{header.size()}) + std::string(header) + std::string(data);
}

// A valid file with one F32 tensor for each name, of four elements 0, 1, 2, 3.
inline std::string safetensors_with(const std::vector<std::string>& names) {
  std::string header = "{", data;
  for (size_t n = 0; n < names.size(); ++n) {
    header += (n ? ",\"" : "\"") + names[n] +
              "\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[" + std::to_string(16 * n) +
              "," + std::to_string(16 * n + 16) + "]}";
    for (float value : {0.f, 1.f, 2.f, 3.f}) data += bytes_of(value);
  }
  return safetensors_bytes(header + "}", data);
}

// A GGUF, entry by entry.
class GgufBuilder {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;  // of the data as written

  static std::string string(std::string_view text) {
    return bytes_of(uint64_t{text.size()}) + std::string(text);
  }
  GgufBuilder& raw_value(std::string_view key, uint32_t type, std::string_view bytes) {
    values_ += string(key) + bytes_of(type) + std::string(bytes);
    ++num_values_;
    return *this;
  }
  GgufBuilder& u32(std::string_view key, uint32_t value) {
    return raw_value(key, 4, bytes_of(value));
  }
  GgufBuilder& f32(std::string_view key, float value) { return raw_value(key, 6, bytes_of(value)); }
  GgufBuilder& text(std::string_view key, std::string_view value) {
    return raw_value(key, 8, string(value));
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = bytes_of(uint32_t{8}) + bytes_of(uint64_t{values.size()});
    for (const std::string& value : values) bytes += string(value);
    return raw_value(key, 9, bytes);
  }
  GgufBuilder& i32s(std::string_view key, const std::vector<int32_t>& values) {
    std::string bytes = bytes_of(uint32_t{5}) + bytes_of(uint64_t{values.size()});
    for (int32_t value : values) bytes += bytes_of(value);
    return raw_value(key, 9, bytes);
  }
  GgufBuilder& f32s(std::string_view key, const std::vector<float>& values) {
    std::string bytes = bytes_of(uint32_t{6}) + bytes_of(uint64_t{values.size()});
    for (float value : values) bytes += bytes_of(value);
    return raw_value(key, 9, bytes);
  }
  // dims in the file's order, fastest first.
  GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                      std::string_view data) {
    while (data_.size() % alignment) data_ += '\0';
    return raw_tensor(name, dims, type, data_.size(), data);
  }
  GgufBuilder& raw_tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                          uint64_t offset, std::string_view data) {
    infos_ += string(name) + bytes_of(static_cast<uint32_t>(dims.size()));
    for (uint64_t extent : dims) infos_ += bytes_of(extent);
    infos_ += bytes_of(type) + bytes_of(offset);
    data_ += data;
    ++num_tensors_;
    return *this;
  }
  std::string build() const {
    std::string file = "GGUF" + bytes_of(version) + bytes_of(num_tensors_) + bytes_of(num_values_) +
                       values_ + infos_;
    while (file.size() % alignment) file += '\0';
    return file + data_;
  }

 private:
  uint64_t num_values_ = 0;
  uint64_t num_tensors_ = 0;
  std::string values_, infos_, data_;
};

inline std::string floats(int64_t count, float first = 0.f) {
  std::string data;
  for (int64_t n = 0; n < count; ++n) data += bytes_of(first + static_cast<float>(n));
  return data;
}

// The least llama that open_model accepts: hidden 16, 2 heads of 8 over 1 of keys, one block.
inline GgufBuilder tiny_llama() {
  GgufBuilder gguf;
  gguf.text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 64)
      .u32("llama.embedding_length", 16)
      .u32("llama.feed_forward_length", 32)
      .u32("llama.attention.head_count", 2)
      .u32("llama.attention.head_count_kv", 1)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .f32("llama.rope.freq_base", 10000.f)
      .tensor("token_embd.weight", {16, 4}, 0, floats(64))
      .tensor("output_norm.weight", {16}, 0, floats(16))
      .tensor("blk.0.attn_q.weight", {16, 16}, 0, floats(256))
      .tensor("blk.0.attn_k.weight", {16, 8}, 0, floats(128));
  return gguf;
}

// What `action` throws as E, in words; each must be one sentence that names `file`.
template <typename E, typename Action>
std::string message_of(Action&& action, std::string_view file) {
  try {
    std::forward<Action>(action)();
  } catch (const E& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(file), std::string::npos) << "does not name " << file << ": " << text;
    EXPECT_TRUE(text.ends_with('.')) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no error for " << file;
  return {};
}

inline void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "wanted \"" << part << "\" in: " << text;
}

// All of a tensor as f32.
inline std::vector<float> read_floats(const TensorSource& source, std::string_view name) {
  const TensorInfo& info = source.require(name);
  std::vector<float> values(static_cast<size_t>(info.shape.elements()));
  std::vector<std::byte> scratch(kLeastReadScratchBytes);
  source.read(info, {reinterpret_cast<std::byte*>(values.data()), DType::f32, info.shape}, scratch);
  return values;
}

}  // namespace cairn::test
