// The states files of a checkpoint, one a rank: what a run holds of every trained parameter, byte
// for byte, in global coordinates. A tensor "PARAMETER/STATE" holds all elements of a state, and
// "PARAMETER/STATE@N" a stretch of them from element N on, so that any number of ranks can read
// what any other number wrote. In a file of 8-bit blocks nothing is ever coded anew.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/safetensors.h"

namespace cairn {

// "states-00001-of-00004.safetensors" of rank 0 of 4.
std::string states_file_name(int64_t rank, int64_t ranks);
// "PARAMETER/STATE@first", or without @ from element 0 on.
std::string section_name(std::string_view parameter, std::string_view state, int64_t first);

// All states files of a checkpoint together.
class StateFiles {
 public:
  // Throws DamagedFile when a rank's file is missing, or stretches overlap or leave a gap.
  explicit StateFiles(const std::string& folder);

  const std::string& folder() const { return folder_; }
  // Nothing if the checkpoint has no such state.
  std::optional<FileType> type_of(const std::string& parameter, std::string_view state) const;
  // Elements of the whole state.
  int64_t elements_of(const std::string& parameter, std::string_view state) const;
  // The bytes of elements [first, first + count).
  void read(const std::string& parameter, std::string_view state, int64_t first, int64_t count,
            std::span<std::byte> out) const;

 private:
  struct Section {
    const SafetensorsFile* file;
    const TensorInfo* tensor;
    int64_t first;
    int64_t end;
  };
  using Sections = std::vector<Section>;  // by their first element
  const Sections* find(const std::string& parameter, std::string_view state) const;
  void add_file(const std::string& path);
  void check_order(const std::string& name, Sections& sections) const;

  std::string folder_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Sections> sections_;  // "PARAMETER/STATE"
};

}  // namespace cairn
