#include "model/quantise_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "files/hf_folder.h"
#include "model/weight_reader.h"

namespace cairn {
namespace {

// The name that a quant state and config.json have for the storage of the other weights.
constexpr std::string_view kStorageName = "bfloat16";
// The text of a quant state is as long as its numbers, which are known only once a weight was
// quantised: blanks at the end, which JSON allows, make all of one length.
constexpr int64_t kStateBytes = 256;

QuantisedModule describe(const Parameter& parameter, const QuantSpec& quantisation) {
  QuantisedModule module;
  module.name = parameter.name.substr(0, parameter.name.rfind(".weight"));
  module.type = "nf4";
  module.shape = parameter.shape;
  module.block = quantisation.block;
  module.nested = quantisation.nested;
  return module;
}

void add_tensors(const Parameter& parameter, const QuantSpec& quantisation,
                 std::vector<TensorSpec>& tensors) {
  if (parameter.storage != DType::u4) {
    tensors.push_back({parameter.name, FileType::bf16, parameter.shape});
    return;
  }
  const std::string& weight = parameter.name;
  const int64_t elements = parameter.elements();
  const int64_t blocks = ceil_div(elements, quantisation.block);
  tensors.push_back({weight, FileType::u8, {ceil_div(elements, 2), 1}});
  tensors.push_back(
      {weight + ".absmax", quantisation.nested ? FileType::u8 : FileType::f32, {blocks}});
  tensors.push_back({weight + ".quant_map", FileType::f32, {16}});
  tensors.push_back(
      {quant_state_name(describe(parameter, quantisation)), FileType::u8, {kStateBytes}});
  if (!quantisation.nested) return;
  tensors.push_back({weight + ".nested_absmax", FileType::f32, {ceil_div(blocks, kNestedBlock)}});
  tensors.push_back({weight + ".nested_quant_map", FileType::f32, {256}});
}

// Brings tensors to the host, a piece at a time, and into the files.
class FolderWriter {
 public:
  FolderWriter(const Exec& exec, HfWeightsWriter& writer, View piece)
      : exec_(exec), writer_(writer), piece_(piece) {}

  void write(const std::string& name, ConstView tensor) {
    for (int64_t begin = 0; begin < tensor.bytes();) {
      const int64_t count = std::min(piece_.bytes(), tensor.bytes() - begin);
      exec_.backend.device().copy_to_host(exec_.stream, tensor.data() + begin, piece_.data(),
                                          count);
      exec_.backend.device().wait(exec_.stream);
      writer_.append(name, {piece_.data(), static_cast<size_t>(count)});
      begin += count;
    }
  }

  void write_quantised(const Parameter& parameter, const QuantSpec& quantisation) {
    const QuantState& quant = parameter.quant;
    const std::string& weight = parameter.name;
    QuantisedModule module = describe(parameter, quantisation);
    write(weight, parameter.value);
    write(weight + ".absmax", quant.absmax);
    write(weight + ".quant_map", quant.table);
    if (quant.nested()) {
      write(weight + ".nested_absmax", quant.nested_absmax);
      write(weight + ".nested_quant_map", quant.nested_table);
      exec_.backend.device().copy_to_host(exec_.stream, quant.nested_offset.data(),
                                          &module.nested_offset, sizeof module.nested_offset);
      exec_.backend.device().wait(exec_.stream);
    }
    std::string state = make_quant_state(module, kStorageName);
    CAIRN_CHECK(static_cast<int64_t>(state.size()) <= kStateBytes,
                "[quantise_folder] wanted a quant state of at most {} bytes, got {}", kStateBytes,
                state.size());
    state.resize(static_cast<size_t>(kStateBytes), ' ');
    writer_.append(quant_state_name(module), std::as_bytes(std::span(state)));
  }

 private:
  const Exec& exec_;
  HfWeightsWriter& writer_;
  View piece_;
};

nlohmann::json make_quantization_config(const QuantSpec& quantisation) {
  return {{"quant_method", "bitsandbytes"},
          {"load_in_4bit", true},
          {"load_in_8bit", false},
          {"_load_in_4bit", true},
          {"_load_in_8bit", false},
          {"bnb_4bit_quant_type", "nf4"},
          {"bnb_4bit_use_double_quant", quantisation.nested},
          {"bnb_4bit_compute_dtype", kStorageName},
          {"bnb_4bit_quant_storage", "uint8"},
          {"llm_int8_skip_modules", quantisation.plain_modules.empty()
                                        ? nlohmann::json()
                                        : nlohmann::json(quantisation.plain_modules)},
          {"llm_int8_threshold", 6.0},
          {"llm_int8_enable_fp32_cpu_offload", false},
          {"llm_int8_has_fp16_weight", false}};
}

}  // namespace

void quantise_folder(const Exec& exec, const ModelFiles& files, const QuantSpec& quantisation,
                     const std::string* folder) {
  if (!find_quantised_modules(*files.weights).empty())
    throw UserError(
        fmt::format("{} is quantised already; give the model in F32, F16 or BF16", files.path));
  ModelSpec spec;
  spec.config = parse_model_config(files.config);
  spec.trains = false;
  spec.quantisation = quantisation;
  Model model(spec);
  check_plain_modules(model, "--skip");
  model.allocate_tables(exec);
  Tensor scratch = exec.make_scratch("read", kReadScratchBytes);
  Tensor piece = exec.make_scratch("piece on host", kReadScratchBytes);
  QuantisingRoom quantising(exec, model);

  const WeightReader reader(*files.weights, model);
  std::unique_ptr<HfWeightsWriter> writer;
  if (folder) {
    std::vector<TensorSpec> tensors;
    for (const Parameter& parameter : model.parameters())
      add_tensors(parameter, quantisation, tensors);
    writer = std::make_unique<HfWeightsWriter>(*folder, std::move(tensors));
    reader.write_tables(exec, model);
  }
  for (Parameter& parameter : model.parameters()) {
    model.allocate_value(exec, parameter);
    if (folder) {
      reader.read(exec, model, parameter, quantising,
                  {scratch.view().data(), static_cast<size_t>(kReadScratchBytes)});
      FolderWriter out(exec, *writer, piece.view());
      if (parameter.storage == DType::u4)
        out.write_quantised(parameter, quantisation);
      else
        out.write(parameter.name, parameter.value);
    }
    parameter.memory = {};
  }
  if (!folder) return;
  writer->finish();
  nlohmann::json config = files.config;
  config["quantization_config"] = make_quantization_config(quantisation);
  write_model_json(files, config, DType::bf16, *folder);
}

}  // namespace cairn
