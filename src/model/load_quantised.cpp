#include "model/load_quantised.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/bytes.h"
#include "base/error.h"
#include "numeric/dynamic_map.h"
#include "ops/moving.h"
#include "ops/quantise.h"

namespace cairn {
namespace {

// Elements of a piece, if rows are no longer: 4 MiB of f32.
constexpr int64_t kPieceElements = 1 << 20;

// Rows that end where a block ends.
int64_t rows_of_piece(const Parameter& parameter, int64_t block) {
  const int64_t rows = parameter.shape[0], in = parameter.shape[1];
  const int64_t unit = block / std::gcd(in, block);
  return std::min(rows, round_up(std::max<int64_t>(1, kPieceElements / in), unit));
}

// Looked at on the host, a stackful at a time.
bool all_finite(const Exec& exec, ConstView values) {
  std::array<float, 1024> piece;
  for (int64_t begin = 0; begin < values.rows(); begin += int64_t{piece.size()}) {
    const int64_t count = std::min(int64_t{piece.size()}, values.rows() - begin);
    const ConstView part = values.view_rows(begin, count);
    exec.backend.device().copy_to_host(exec.stream, part.data(), piece.data(), part.bytes());
    exec.backend.device().wait(exec.stream);
    for (int64_t i = 0; i < count; ++i)
      if (!std::isfinite(piece[static_cast<size_t>(i)])) return false;
  }
  return true;
}

// By way of the host, a stackful at a time.
void copy_bytes(const Exec& exec, ConstView in, View out) {
  std::array<std::byte, 4096> piece;
  Device& device = exec.backend.device();
  for (int64_t begin = 0; begin < in.bytes(); begin += int64_t{piece.size()}) {
    const int64_t count = std::min(int64_t{piece.size()}, in.bytes() - begin);
    device.copy_to_host(exec.stream, in.data() + begin, piece.data(), count);
    device.wait(exec.stream);
    device.copy_to_device(exec.stream, piece.data(), out.data() + begin, count);
  }
}

}  // namespace

QuantisingRoom::QuantisingRoom(const Exec& exec, const Model& model, Peers* peers) : peers_(peers) {
  if (!model.spec().quantisation) return;
  const int64_t block = model.spec().quantisation->block;
  int64_t elements = 0, blocks = 0;
  bool cut = false;
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.storage != DType::u4) continue;
    elements = std::max(elements, rows_of_piece(parameter, block) * parameter.shape[1]);
    blocks = std::max(blocks, ceil_div(parameter.elements(), block));
    cut = cut || parameter.cut.value;
  }
  piece_ = exec.make(Account::workspace, "rows to quantise", DType::f32, {elements});
  absmax_ = exec.make(Account::workspace, "absmax", DType::f32, {blocks});
  if (!cut || !model.spec().quantisation->nested) return;
  nested_codes_ = exec.make(Account::workspace, "absmax codes", DType::u8, {blocks});
  nested_absmax_ =
      exec.make(Account::workspace, "nested absmax", DType::f32, {ceil_div(blocks, kNestedBlock)});
}

void QuantisingRoom::quantise(const Exec& exec, Model& model, Parameter& parameter,
                              const Rows& rows, const std::string& origin) {
  const int64_t in = parameter.shape[1], block = parameter.quant.block;
  const int64_t begin = parameter.own_first_row(), end = begin + parameter.own_rows();
  const int64_t step = rows_of_piece(parameter, block);
  const View absmax = absmax_.view_rows(ceil_div(parameter.elements(), block));
  const View codes = parameter.view_own_value();
  for (int64_t first = begin; first < end; first += step) {
    const int64_t count = std::min(step, end - first);
    const View piece = piece_.view_rows(count * in);
    rows(first, count, piece.view_as({count, in}));
    ops::quantise_nf4(exec, piece, block, codes.view_rows((first - begin) * in, count * in),
                      absmax.view_rows(first * in / block, ceil_div(count * in, block)));
  }
  const View own =
      absmax.view_rows(parameter.own_first() / block, ceil_div(parameter.own_elements(), block));
  if (!all_finite(exec, own))
    throw DamagedFile(
        fmt::format("{}: '{}' holds values that are not finite numbers; download it again", origin,
                    parameter.name));
  if (parameter.scales.nested)
    nest(exec, model, parameter, absmax);
  else if (own.rows() > 0)
    ops::convert(exec, own,
                 parameter.cut.value ? parameter.memory.absmax.view_rows(own.rows())
                                     : parameter.scales.absmax);
}

// The offset is a mean over the whole weight, so a rank that has a part of it needs all absmax.
void QuantisingRoom::nest(const Exec& exec, Model& model, Parameter& parameter, View absmax) {
  QuantScales& scales = parameter.scales;
  const View table = model.quant_tables().nested.view();
  const View offset = model.quant_tables().offsets.view().view_rows(scales.index, 1);
  if (!parameter.cut.value)
    return ops::nest_absmax(exec, absmax, table, scales.absmax, scales.nested_absmax, offset);
  CAIRN_CHECK(peers_, "[quantise] wanted peers for a weight whose value is cut, got none");
  peers_->complete_absmax(parameter, absmax);
  const View codes = nested_codes_.view_rows(scales.blocks);
  const View nested = nested_absmax_.view_rows(ceil_div(scales.blocks, kNestedBlock));
  ops::nest_absmax(exec, absmax, table, codes, nested, offset);
  const int64_t block = parameter.quant.block;
  const int64_t first = parameter.own_first() / block;
  const int64_t count = ceil_div(parameter.own_elements(), block);
  if (count == 0) return;
  const int64_t nested_count = ceil_div(count, kNestedBlock);
  copy_bytes(exec, codes.view_rows(first, count), parameter.memory.absmax.view_rows(count));
  copy_bytes(exec, nested.view_rows(first / kNestedBlock, nested_count),
             parameter.memory.nested_absmax.view_rows(nested_count));
}

void match_quantised_weights(const TensorSource& source, ModelSpec& spec) {
  const std::vector<QuantisedModule> modules = find_quantised_modules(source);
  if (modules.empty()) {
    // Weights in high precision: what the recipe asks for holds, a configuration alone does not.
    if (spec.config.quantisation)
      throw DamagedFile(fmt::format(
          "{}: the configuration says that the weights are quantised, but no tensor is; the "
          "configuration belongs to other weights",
          source.path()));
    return;
  }
  std::unordered_set<std::string> coded;
  for (const QuantisedModule& module : modules) coded.insert(module.name);
  QuantSpec quantisation;
  quantisation.block = modules.front().block;
  quantisation.nested = modules.front().nested;
  constexpr std::string_view kWeight = ".weight";
  for (const TensorInfo& info : source.tensors())
    if (info.shape.rank() == 2 && info.name.ends_with(kWeight)) {
      const std::string name = info.name.substr(0, info.name.size() - kWeight.size());
      if (!coded.contains(name)) quantisation.plain_modules.push_back(name);
    }
  spec.quantisation = std::move(quantisation);
}

namespace {

// A part of a quantised weight from byte `from` on, piece by piece through `room`.
void read_part(const Exec& exec, const TensorSource& source, const std::string& name, int64_t from,
               View out, std::span<std::byte> room) {
  const TensorInfo& info = source.require(name);
  for (int64_t begin = 0; begin < out.bytes();) {
    const int64_t count = std::min(out.bytes() - begin, static_cast<int64_t>(room.size()));
    const auto piece = room.first(static_cast<size_t>(count));
    source.read_bytes(info, from + begin, piece);
    exec.backend.device().copy_to_device(exec.stream, piece.data(), out.data() + begin, count);
    begin += count;
  }
}

// A table that all quantised weights share: the first one writes it.
void read_table(const Exec& exec, const TensorSource& source, const std::string& name, View table,
                bool first) {
  std::array<float, 256> now, before;
  const auto count = static_cast<size_t>(table.elements());
  source.read_bytes(source.require(name), 0, std::as_writable_bytes(std::span(now).first(count)));
  Device& device = exec.backend.device();
  if (first) {
    for (size_t i = 0; i < count; ++i)
      if (!std::isfinite(now[i]))
        throw DamagedFile(
            fmt::format("{}: '{}' holds values that are not finite numbers; download "
                        "it again",
                        source.path(), name));
    device.copy_to_device(exec.stream, now.data(), table.data(), table.bytes());
    return;
  }
  device.copy_to_host(exec.stream, table.data(), before.data(), table.bytes());
  device.wait(exec.stream);
  if (!std::equal(now.begin(), now.begin() + static_cast<int64_t>(count), before.begin()))
    throw UserError(
        fmt::format("{}: '{}' differs from the table of the weights before; Cairn reads "
                    "one table in one model",
                    source.path(), name));
}

}  // namespace

void read_coded(const Exec& exec, Model& model, Parameter& parameter, const TensorSource& source,
                const QuantisedModule& module, std::span<std::byte> room) {
  const std::string weight = module.weight();
  QuantTables& tables = model.quant_tables();
  QuantScales& scales = parameter.scales;
  const bool first = scales.index == 0;
  read_table(exec, source, weight + ".quant_map", tables.codes.view(), first);
  const bool cut = parameter.cut.value;
  const int64_t first_block = parameter.own_first() / parameter.quant.block;
  const int64_t blocks = ceil_div(parameter.own_elements(), parameter.quant.block);
  const View absmax = cut ? parameter.memory.absmax.view_rows(blocks) : scales.absmax;
  read_part(exec, source, weight, bytes_of(DType::u4, parameter.own_first()),
            parameter.view_own_value(), room);
  read_part(exec, source, weight + ".absmax", bytes_of(absmax.dtype(), first_block), absmax, room);
  if (!module.nested) return;
  read_table(exec, source, weight + ".nested_quant_map", tables.nested.view(), first);
  const View nested_absmax =
      cut ? parameter.memory.nested_absmax.view_rows(ceil_div(blocks, kNestedBlock))
          : scales.nested_absmax;
  read_part(exec, source, weight + ".nested_absmax",
            bytes_of(DType::f32, first_block / kNestedBlock), nested_absmax, room);
  const View offset = tables.offsets.view().view_rows(scales.index, 1);
  exec.backend.device().copy_to_device(exec.stream, &module.nested_offset, offset.data(),
                                       offset.bytes());
}

void write_quant_tables(const Exec& exec, Model& model) {
  QuantTables& tables = model.quant_tables();
  if (!tables.codes) return;
  Device& device = exec.backend.device();
  device.copy_to_device(exec.stream, kNf4Table.data(), tables.codes.view().data(),
                        tables.codes.bytes());
  if (!tables.nested) return;
  const DynamicMap& map = signed_dynamic_map();
  device.copy_to_device(exec.stream, map.data(), tables.nested.view().data(),
                        tables.nested.bytes());
}

}  // namespace cairn
