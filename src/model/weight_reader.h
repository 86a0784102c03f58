// WeightReader: the base weights of a source, parameter by parameter, into a model's memory. What
// the model quantises is quantised on the way, or read as it lies if the source holds codes.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "files/quantised_modules.h"
#include "model/load_quantised.h"

namespace cairn {

// This rank's part of a parameter from a tensor of numbers: rows of it if the value is cut.
void read_own(const TensorSource& source, const TensorInfo& info, Parameter& parameter,
              std::span<std::byte> room);

class WeightReader {
 public:
  // Holds every parameter but the adapter's against the source, before the first byte is read.
  // Throws DamagedFile for one that is missing or of another shape, UserError for one that is
  // quantised in another way than the model.
  WeightReader(const TensorSource& source, const Model& model);

  // Writes what codes stand for, unless the source brings that itself.
  void write_tables(const Exec& exec, Model& model) const;
  // Reads one parameter of the model into its memory, or this rank's part of it. `room`:
  // kReadScratchBytes.
  void read(const Exec& exec, Model& model, Parameter& parameter, QuantisingRoom& quantising,
            std::span<std::byte> room) const;
  // Names in the source that the model has no use for.
  std::vector<std::string> unused(const Model& model) const;

 private:
  void check(const Parameter& parameter, const ModelSpec& spec) const;

  const TensorSource& source_;
  std::unordered_map<std::string, QuantisedModule> coded_;  // by the weight's name
};

}  // namespace cairn
