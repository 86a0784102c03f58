// A model as a Hugging Face folder whose products are quantised to NF4, in the form that
// bitsandbytes and transformers load. One weight at a time is in memory.
#pragma once

#include "files/model_files.h"
#include "model/quantisation.h"
#include "ops/exec.h"

namespace cairn {

// Writes weights and the JSON files of `files` to an existing folder; null `folder`: rehearsal,
// memory is taken and given back as the run does. Throws UserError for a model that is quantised
// already.
void quantise_folder(const Exec& exec, const ModelFiles& files, const QuantSpec& quantisation,
                     const std::string* folder);

}  // namespace cairn
