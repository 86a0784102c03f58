// Reading tests/golden/data: what PyTorch, transformers and peft computed (README.md there).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/batch.h"
#include "files/safetensors.h"
#include "model/config.h"

namespace cairn::test {

std::string golden_path(const std::string& name);
nlohmann::json read_json(const std::string& path);

// A tensor as f32.
std::vector<float> read_values(const SafetensorsFile& file, const std::string& name);

// One folder of a tiny model.
struct TinyGolden {
  explicit TinyGolden(const std::string& folder);

  std::vector<float> floats(const std::string& name) const;
  Batch batch() const;  // both sequences

  ModelConfig config;
  nlohmann::json facts;  // golden.json
  SafetensorsFile model, adapter, golden;
  std::vector<Example> sequences;
};

// The largest difference of `got` from `wanted`, over the root mean square of `wanted`.
double relative_error(const std::vector<float>& got, const std::vector<float>& wanted);

}  // namespace cairn::test
