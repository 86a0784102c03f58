// Filling a model's parameters: from files, from random numbers, from an adapter. Weights are read
// straight into the arena; a piece of one tensor at most exists twice.
#pragma once

#include <string>
#include <vector>

#include "files/tensor_source.h"
#include "model/model.h"
#include "model/peers.h"

namespace cairn {

// Holds the sources against the model's parameters by their headers alone: the errors of
// load_weights and load_adapter, before any memory is taken. `adapter` may be null.
void check_sources(const Model& model, const TensorSource& weights, const TensorSource* adapter);

// Reads every parameter but the adapter's; what the model quantises is quantised on the way, or
// taken as it is if the source holds codes. Throws DamagedFile for a parameter that is missing or
// of another shape; returns the names in the source that the model has no use for. `source` null:
// rehearsal, everything but the reading is done. Where values are cut a rank reads its own rows.
std::vector<std::string> load_weights(const Exec& exec, Model& model, const TensorSource* source,
                                      Peers* peers = nullptr);

// Reads a PEFT adapter: the low-rank pairs, and what is trained beside them; the same errors.
void load_adapter(const Exec& exec, Model& model, const TensorSource* source);

// A uniform in +-1/sqrt(in), B zero, as PEFT starts a pair.
void start_adapter(const Exec& exec, Model& model, uint64_t seed);

// Normal with deviation 0.02, norms one, biases zero: a model of any shape without files. Takes the
// memory that load_weights takes.
void start_random(const Exec& exec, Model& model, uint64_t seed, Peers* peers = nullptr);

}  // namespace cairn
