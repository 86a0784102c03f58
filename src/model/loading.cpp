#include "model/loading.h"

#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "model/load_quantised.h"
#include "model/weight_reader.h"
#include "numeric/bfloat16.h"
#include "ops/moving.h"

namespace cairn {
namespace {

// A healthy adapter whose tensors are not those that this model and the adapter's configuration
// make is one of another model.
void check_belongs(const Model& model, const TensorSource& source) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(
        fmt::format("{}: the adapter belongs to another model, or its adapter_config.json was "
                    "changed: {}",
                    source.path(), why));
  };
  std::unordered_set<std::string> wanted;
  for (const Parameter& parameter : model.parameters()) {
    if (!parameter.in_adapter_file()) continue;
    const std::string name = parameter.name_in_adapter();
    wanted.insert(name);
    const TensorInfo* info = source.find(name);
    if (!info) refuse(fmt::format("it lacks the tensor '{}'", name));
    if (info->shape != parameter.shape)
      refuse(fmt::format("its tensor '{}' has shape {}, where {} was expected", info->name,
                         info->shape.to_string(), parameter.shape.to_string()));
  }
  for (const TensorInfo& info : source.tensors())
    if (!wanted.contains(info.name))
      refuse(fmt::format("there is no place for its tensor '{}'", info.name));
}

// A rank's own elements, which may be none, are those that the whole would have.
void fill_own(const Exec& exec, RandomFill fill, const Parameter& parameter, View value) {
  if (value.elements() == 0) return;
  if (parameter.cut.value) fill.first = parameter.own_first();
  ops::fill_random(exec, fill, value);
}

}  // namespace

void check_sources(const Model& model, const TensorSource& weights, const TensorSource* adapter) {
  WeightReader(weights, model);
  if (adapter) check_belongs(model, *adapter);
}

std::vector<std::string> load_weights(const Exec& exec, Model& model, const TensorSource* source,
                                      Peers* peers) {
  Tensor scratch = exec.make_scratch("read", kReadScratchBytes);
  QuantisingRoom quantising(exec, model, peers);
  if (!source) return {};
  const WeightReader reader(*source, model);
  reader.write_tables(exec, model);
  StreamFill fill(model.streamed());
  for (Parameter& parameter : model.parameters()) {
    if (parameter.adapter) continue;
    fill.next(parameter);
    reader.read(exec, model, parameter, quantising,
                {scratch.view().data(), static_cast<size_t>(kReadScratchBytes)});
  }
  fill.finish();
  return reader.unused(model);
}

void load_adapter(const Exec& exec, Model& model, const TensorSource* source) {
  Tensor scratch = exec.make_scratch("read", kReadScratchBytes);
  if (!source) return;
  check_belongs(model, *source);
  for (Parameter& parameter : model.parameters())
    if (parameter.in_adapter_file())
      read_own(*source, source->require(parameter.name_in_adapter()), parameter,
               {scratch.view().data(), static_cast<size_t>(kReadScratchBytes)});
}

void start_adapter(const Exec& exec, Model& model, uint64_t seed) {
  uint64_t stream = 0;
  for (Parameter& parameter : model.parameters()) {
    ++stream;
    if (!parameter.adapter) continue;
    const View value = parameter.cut.value ? parameter.view_own_value() : parameter.value;
    if (parameter.name.ends_with(".lora_B.weight")) {
      ops::fill_zero(exec, value);
      continue;
    }
    RandomFill fill{.seed = seed, .stream = stream};
    fill.scale = 1 / std::sqrt(static_cast<float>(parameter.shape[1]));
    fill_own(exec, fill, parameter, value);
  }
}

void start_random(const Exec& exec, Model& model, uint64_t seed, Peers* peers) {
  Tensor scratch = exec.make_scratch("read", kReadScratchBytes);
  QuantisingRoom quantising(exec, model, peers);
  write_quant_tables(exec, model);
  StreamFill filling(model.streamed());
  uint64_t stream = 0;
  for (Parameter& parameter : model.parameters()) {
    ++stream;
    if (parameter.adapter) continue;
    filling.next(parameter);
    const View value = parameter.cut.value ? parameter.view_own_value() : parameter.value;
    if (parameter.shape.rank() == 1) {
      const auto count = static_cast<size_t>(value.elements());
      const std::vector<float> wide(count, parameter.vector_start);
      const std::vector<bf16> narrow(count, to_bf16(parameter.vector_start));
      const void* data =
          parameter.storage == DType::f32 ? static_cast<const void*>(wide.data()) : narrow.data();
      exec.backend.device().copy_to_device(exec.stream, data, value.data(), value.bytes());
      continue;
    }
    RandomFill fill{.normal = true, .scale = 0.02f, .seed = seed, .stream = stream};
    if (parameter.storage != DType::u4) {
      fill_own(exec, fill, parameter, value);
      continue;
    }
    quantising.quantise(
        exec, model, parameter,
        [&](int64_t first, int64_t, View out) {
          // A stream beyond those of other weights; where rows begin between draws, one a row.
          fill.stream = stream << 32;
          fill.first = first * out.columns();
          if (out.columns() % kCodedBlock == 0) return ops::fill_random(exec, fill, out);
          fill.first = 0;
          for (int64_t row = 0; row < out.rows(); ++row) {
            fill.stream = stream << 32 | static_cast<uint64_t>(first + row + 1);
            ops::fill_random(exec, fill, out.view_rows(row, 1));
          }
        },
        "random weights");
  }
  filling.finish();
}

}  // namespace cairn
