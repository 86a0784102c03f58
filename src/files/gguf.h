// The GGUF container, versions 2 and 3: metadata and the list of tensors, as the file tells them,
// joined by those of the other files of a split model (gguf_split.h).
// Every length is held against the bytes left in the file before anything is allocated or
// multiplied. Source: ggml's docs/gguf.md and gguf.h.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.h"
#include "files/tensor_source.h"

namespace cairn {

class GgufFile {
 public:
  // Throws DamagedFile and names the file, UserError when there is none.
  explicit GgufFile(std::string path);

  const std::string& path() const { return files_.front().path(); }
  // The file that tensors()[i].file counts; 0 is the one given.
  const InputFile& file(int index = 0) const { return files_[static_cast<size_t>(index)]; }
  uint32_t version() const { return version_; }
  // Takes over the tensors of another file of the same model.
  void append(GgufFile part);
  // Names as in the file, shapes turned to row-major order, offsets from the file's beginning.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  // nullptr when there is no such key.
  const nlohmann::json* find(std::string_view key) const;
  // Typed look-ups. Throw DamagedFile when the key has another type or is out of range; the ones
  // with a fallback return it when the key is absent, the others throw for that too.
  std::string text(std::string_view key) const;
  int64_t count(std::string_view key) const;  // a whole number from 0 to 2^31
  int64_t count(std::string_view key, int64_t fallback) const;
  double number(std::string_view key) const;
  double number(std::string_view key, double fallback) const;
  bool flag(std::string_view key, bool fallback) const;

 private:
  const nlohmann::json& require(std::string_view key) const;

  std::vector<InputFile> files_;
  uint32_t version_ = 0;
  std::map<std::string, nlohmann::json, std::less<>> metadata_;
  std::vector<TensorInfo> tensors_;
};

// Whether the file begins as a GGUF does.
bool is_gguf(const std::string& path);

}  // namespace cairn
