// Filling quantised weights: high precision passes through a piece at a time, so that of a weight
// never more than a piece exists in f32.
#pragma once

#include <functional>

#include "files/quantised_modules.h"
#include "model/model.h"
#include "model/peers.h"

namespace cairn {

// Scratch for the largest quantised weight of a model; empty if it has none.
class QuantisingRoom {
 public:
  // `peers` fill their parts of weights whose values are cut.
  QuantisingRoom(const Exec& exec, const Model& model, Peers* peers = nullptr);

  // Writes rows [first, first + count) of a weight into `out` [count, in] f32.
  using Rows = std::function<void(int64_t first, int64_t count, View out)>;
  // Codes and absmax of the weight from its rows, or of this rank's rows. Throws DamagedFile naming
  // `origin` if a value is not finite.
  void quantise(const Exec& exec, Model& model, Parameter& parameter, const Rows& rows,
                const std::string& origin);

 private:
  void nest(const Exec& exec, Model& model, Parameter& parameter, View absmax);

  Peers* peers_;
  Tensor piece_;   // [elements] f32
  Tensor absmax_;  // [most blocks] f32, before it is coded itself
  // Of a whole weight whose value is cut: [most blocks] u8 and [most nested blocks] f32.
  Tensor nested_codes_, nested_absmax_;
};

// What a source holds quantised stays so, and the rest of the model as it is: the spec follows the
// files, whatever a configuration says.
void match_quantised_weights(const TensorSource& source, ModelSpec& spec);

// Writes what codes stand for into the model's tables.
void write_quant_tables(const Exec& exec, Model& model);

// Reads a weight that is quantised already, as it lies. Its tables become the model's, those of the
// next ones must be the same. `room`: kReadScratchBytes.
void read_coded(const Exec& exec, Model& model, Parameter& parameter, const TensorSource& source,
                const QuantisedModule& module, std::span<std::byte> room);

}  // namespace cairn
