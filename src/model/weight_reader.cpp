#include "model/weight_reader.h"

#include <unordered_set>

#include "base/error.h"

namespace cairn {
namespace {

void check_shape(const Parameter& parameter, const std::string& name, const Shape& shape,
                 const std::string& path) {
  if (shape != parameter.shape)
    throw DamagedFile(fmt::format("{}: tensor '{}' has shape {}; the configuration wants {}", path,
                                  name, shape.to_string(), parameter.shape.to_string()));
}

}  // namespace

void read_own(const TensorSource& source, const TensorInfo& info, Parameter& parameter,
              std::span<std::byte> room) {
  if (!parameter.cut.value) return source.read(info, parameter.value, room);
  source.read_rows(info, parameter.own_first_row(), parameter.own_rows(),
                   parameter.view_own_value(), room);
}

WeightReader::WeightReader(const TensorSource& source, const Model& model) : source_(source) {
  for (QuantisedModule& module : find_quantised_modules(source)) {
    const std::string weight = module.weight();
    coded_.emplace(weight, std::move(module));
  }
  for (const Parameter& parameter : model.parameters())
    if (!parameter.adapter) check(parameter, model.spec());
}

void WeightReader::check(const Parameter& parameter, const ModelSpec& spec) const {
  const TensorInfo& info = source_.require(parameter.name_in_model());
  const auto coded = coded_.find(parameter.name_in_model());
  if (coded == coded_.end()) {
    check_shape(parameter, info.name, info.shape, source_.path());
    return;
  }
  const QuantisedModule& module = coded->second;
  check_shape(parameter, info.name, module.shape, source_.path());
  if (parameter.saved_beside)
    throw UserError(
        fmt::format("{}: '{}' is stored in 4 bits, and additional_target would train it in full; "
                    "take it out of "
                    "additional_target, or give a checkpoint in bf16",
                    source_.path(), parameter.name));
  const QuantSpec* wanted = parameter.storage == DType::u4 ? &*spec.quantisation : nullptr;
  if (!wanted || module.block != wanted->block || module.nested != wanted->nested)
    throw UserError(
        fmt::format("{}: '{}' is quantised in another way than the model's other weights; Cairn "
                    "reads one block size, with double quantisation or without, in one model",
                    source_.path(), parameter.name));
}

void WeightReader::write_tables(const Exec& exec, Model& model) const {
  if (coded_.empty()) write_quant_tables(exec, model);
}

void WeightReader::read(const Exec& exec, Model& model, Parameter& parameter,
                        QuantisingRoom& quantising, std::span<std::byte> room) const {
  const TensorInfo& info = source_.require(parameter.name_in_model());
  if (const auto coded = coded_.find(info.name); coded != coded_.end())
    return read_coded(exec, model, parameter, source_, coded->second, room);
  if (parameter.storage != DType::u4) return read_own(source_, info, parameter, room);
  const auto rows = [&](int64_t first, int64_t count, View out) {
    source_.read_rows(info, first, count, out, room);
  };
  quantising.quantise(exec, model, parameter, rows, source_.path());
}

std::vector<std::string> WeightReader::unused(const Model& model) const {
  std::unordered_set<std::string> wanted;
  for (const Parameter& parameter : model.parameters()) wanted.insert(parameter.name_in_model());
  std::vector<std::string> names;
  for (const TensorInfo& info : source_.tensors())
    if (!wanted.contains(info.name) && !is_quant_part(info.name)) names.push_back(info.name);
  return names;
}

}  // namespace cairn
