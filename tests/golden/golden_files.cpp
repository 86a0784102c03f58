#include "golden/golden_files.h"

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "files/model_files.h"

namespace cairn::test {
namespace {

std::vector<int32_t> read_ids(const SafetensorsFile& file, const std::string& name) {
  const TensorInfo& info = file.require(name);
  std::vector<int64_t> wide(static_cast<size_t>(info.shape.elements()));
  file.read_bytes(info, 0, std::as_writable_bytes(std::span(wide)));
  return {wide.begin(), wide.end()};
}

}  // namespace

std::string golden_path(const std::string& name) {
  return std::string(CAIRN_SOURCE_DIR) + "/tests/golden/data/" + name;
}

nlohmann::json read_json(const std::string& path) {
  std::ifstream in(path);
  CAIRN_CHECK(in.good(), "[golden] wanted the file {}, got none", path);
  return nlohmann::json::parse(in);
}

TinyGolden::TinyGolden(const std::string& folder)
    : config(parse_model_config(read_config(golden_path(folder)))),
      facts(read_json(golden_path(folder + "/golden.json"))),
      model(golden_path(folder + "/model.safetensors")),
      adapter(golden_path(folder + "/adapter/adapter_model.safetensors")),
      golden(golden_path(folder + "/golden.safetensors")) {
  for (const char* s : {"0", "1"})
    sequences.push_back(
        {read_ids(golden, std::string("ids.") + s), read_ids(golden, std::string("labels.") + s)});
}

std::vector<float> read_values(const SafetensorsFile& file, const std::string& name) {
  const TensorInfo& info = file.require(name);
  std::vector<float> values(static_cast<size_t>(info.shape.elements()));
  std::vector<std::byte> scratch(kReadScratchBytes);
  file.read(info, View(reinterpret_cast<std::byte*>(values.data()), DType::f32, info.shape),
            scratch);
  return values;
}

std::vector<float> TinyGolden::floats(const std::string& name) const {
  return read_values(golden, name);
}

Batch TinyGolden::batch() const {
  std::vector<const Example*> pointers;
  for (const Example& example : sequences) pointers.push_back(&example);
  return make_batch(pointers);
}

double relative_error(const std::vector<float>& got, const std::vector<float>& wanted) {
  CAIRN_CHECK(got.size() == wanted.size(), "[golden] wanted {} values, got {}", wanted.size(),
              got.size());
  double worst = 0, squares = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - wanted[i]));
    squares += static_cast<double>(wanted[i]) * wanted[i];
  }
  return worst / std::sqrt(squares / static_cast<double>(wanted.size()));
}

}  // namespace cairn::test
