// The memory of a model: values, gradients and tables, taken from the arena in one order.
#include <cmath>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "model/model.h"

namespace cairn {
namespace {

// The tables of cos and sin, written in pieces that fit a stack.
void write_rope_table(const Exec& exec, const RotarySpectrum& spectrum, View table) {
  const std::vector<double>& frequencies = spectrum.frequencies;
  std::vector<float> row(frequencies.size() * 2);
  for (int64_t position = 0; position < table.rows(); ++position) {
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      row[2 * i] = static_cast<float>(spectrum.magnitude * std::cos(angle));
      row[2 * i + 1] = static_cast<float>(spectrum.magnitude * std::sin(angle));
    }
    const View out = table.view_rows(position, 1);
    exec.backend.device().copy_to_device(exec.stream, row.data(), out.data(), out.bytes());
  }
}

}  // namespace

void Model::allocate(const Exec& exec, int64_t positions) {
  allocate_tables(exec);
  allocate_slots(exec);
  for (Parameter& parameter : parameters_) {
    allocate_value(exec, parameter);
    if (!parameter.trainable || spec_.unit_gradients) continue;
    const Ledger::Scope scope(exec.arena.ledger(), parameter.name);
    const DType storage = trained_storage(spec_.precision);
    if (parameter.cut.gradient)
      parameter.gradient_share =
          exec.make(Account::gradients, "gradient share", storage, {parameter.cut.share});
    else
      parameter.gradient = exec.make(Account::gradients, "gradient", storage, parameter.shape);
  }
  const auto make_table = [&](std::string_view label) {
    return exec.make(Account::workspace, label, DType::f32,
                     {positions, spec_.config.rotary_width() / 2, 2});
  };
  rope_table_ = make_table("rotary table");
  if (spec_.config.has_local_layers()) local_rope_table_ = make_table("local rotary table");
}

void Model::allocate_tables(const Exec& exec) {
  if (!spec_.quantisation) return;
  const QuantSpec& spec = *spec_.quantisation;
  QuantTables& tables = quant_tables_;
  int64_t count = 0;
  for (Parameter& parameter : parameters_) {
    if (parameter.storage != DType::u4) continue;
    parameter.scales.index = count++;
    parameter.scales.blocks = ceil_div(parameter.elements(), spec.block);
    parameter.scales.nested = spec.nested;
  }
  tables.codes = exec.make(Account::weights, "4-bit table", DType::f32, {16});
  if (spec.nested) {
    tables.nested = exec.make(Account::weights, "absmax table", DType::f32, {256});
    tables.offsets = exec.make(Account::weights, "absmax offsets", DType::f32, {count});
  }
  for (Parameter& parameter : parameters_) {
    if (parameter.storage != DType::u4) continue;
    QuantState& quant = parameter.quant;
    quant.block = spec.block;
    quant.table = tables.codes.view();
    if (!spec.nested) continue;
    quant.nested_table = tables.nested.view();
    quant.nested_offset = std::as_const(tables.offsets).view().view_rows(parameter.scales.index, 1);
  }
}

void Model::allocate_value(const Exec& exec, Parameter& parameter) {
  const bool quantised = parameter.storage == DType::u4;
  QuantScales& scales = parameter.scales;
  if (parameter.streamed_block >= 0) return;
  const Ledger::Scope scope(exec.arena.ledger(), parameter.name);
  ParameterMemory& memory = parameter.memory;
  const bool cut = parameter.cut.value;
  memory.value = exec.make(Account::weights, "weight", parameter.storage,
                           cut ? Shape{parameter.cut.share} : parameter.shape);
  // Cuts fall between blocks.
  const int64_t blocks =
      cut && quantised ? ceil_div(parameter.cut.share, parameter.quant.block) : scales.blocks;
  if (quantised)
    memory.absmax =
        exec.make(Account::weights, "absmax", scales.nested ? DType::u8 : DType::f32, {blocks});
  if (quantised && scales.nested)
    memory.nested_absmax =
        exec.make(Account::weights, "nested absmax", DType::f32, {ceil_div(blocks, kNestedBlock)});
  // Whoever opens a cut one says where it is.
  if (cut) return;
  parameter.value = memory.value.view();
  if (!quantised) return;
  parameter.quant.absmax = scales.absmax = memory.absmax.view();
  if (scales.nested)
    parameter.quant.nested_absmax = scales.nested_absmax = memory.nested_absmax.view();
}

void Model::allocate_slots(const Exec& exec) {
  if (!spec_.streams_weights) return;
  StreamedWeights::Blocks blocks(blocks_.size());
  for (Parameter& parameter : parameters_)
    if (parameter.streamed_block >= 0)
      blocks[static_cast<size_t>(parameter.streamed_block)].push_back(&parameter);
  streamed_ = std::make_unique<StreamedWeights>(exec, std::move(blocks));
}

void Model::write_tables(const Exec& exec) {
  const ModelConfig& config = spec_.config;
  write_rope_table(exec, config.spectrum(rope_table_.shape()[0]), rope_table_.view());
  if (local_rope_table_) write_rope_table(exec, config.local_spectrum(), local_rope_table_.view());
}

}  // namespace cairn
