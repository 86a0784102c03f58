#include "files/quantised_modules.h"

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "files/json_file.h"
#include "numeric/nf4.h"

namespace cairn {
namespace {

constexpr std::string_view kState = ".weight.quant_state.bitsandbytes__";
// No real one has more than a few hundred bytes.
constexpr int64_t kMostStateBytes = 4096;

// One quant state and the file that it lies in, for messages.
class StateReader {
 public:
  StateReader(const TensorSource& source, const TensorInfo& info) : source_(source) {
    const size_t at = info.name.find(kState);
    module_.name = info.name.substr(0, at);
    module_.type = info.name.substr(at + kState.size());
    if (module_.type != "nf4" && module_.type != "fp4")
      throw UserError(fmt::format("{}: '{}' is quantised as '{}'; Cairn reads nf4 and fp4",
                                  source.path(), module_.name, module_.type));
    if (info.type != FileType::u8 || info.bytes > kMostStateBytes) damaged("is no text");
    std::string text(static_cast<size_t>(info.bytes), '\0');
    source.read_bytes(info, 0, std::as_writable_bytes(std::span(text)));
    state_ = parse_json(text, source.path() + ": " + info.name);
    if (!state_.is_object()) damaged("is no JSON object");
  }

  QuantisedModule read() {
    if (const auto type = state_.find("quant_type"); type != state_.end() && *type != module_.type)
      damaged("has a quant_type that its name does not");
    module_.block = integer("blocksize");
    if (module_.block < 32 || module_.block > 4096 || (module_.block & (module_.block - 1)) != 0)
      damaged("has a blocksize that is no power of two from 32 to 4096");
    read_shape();
    const TensorInfo& absmax = part(".weight.absmax");
    module_.nested = absmax.type == FileType::u8;
    const int64_t elements = module_.shape.elements();
    const int64_t blocks = ceil_div(elements, module_.block);
    check_bytes(part(".weight"), (elements + 1) / 2);
    check_bytes(part(".weight.quant_map"), 16 * 4);
    check_bytes(absmax, module_.nested ? blocks : 4 * blocks);
    if (!module_.nested) return module_;
    if (integer("nested_blocksize") != kNestedBlock)
      throw UserError(fmt::format("{}: '{}' has a nested_blocksize other than {}", source_.path(),
                                  module_.name, kNestedBlock));
    const auto offset = state_.find("nested_offset");
    if (offset == state_.end() || !offset->is_number()) damaged("lacks the number nested_offset");
    module_.nested_offset = offset->get<float>();
    check_bytes(part(".weight.nested_absmax"), 4 * ceil_div(blocks, kNestedBlock));
    check_bytes(part(".weight.nested_quant_map"), 256 * 4);
    return module_;
  }

 private:
  [[noreturn]] void damaged(std::string_view why) const {
    throw DamagedFile(fmt::format("{}: the quant state of '{}' {}; download it again",
                                  source_.path(), module_.name, why));
  }

  int64_t integer(const char* key) const {
    const auto found = state_.find(key);
    if (found == state_.end() || !found->is_number_integer())
      damaged(fmt::format("lacks the integer {}", key));
    return found->get<int64_t>();
  }

  void read_shape() {
    const auto shape = state_.find("shape");
    if (shape == state_.end() || !shape->is_array() || shape->size() != 2 ||
        !(*shape)[0].is_number_unsigned() || !(*shape)[1].is_number_unsigned())
      damaged("lacks a shape of two extents");
    const auto out = (*shape)[0].get<int64_t>(), in = (*shape)[1].get<int64_t>();
    constexpr int64_t kMost = int64_t{1} << 31;
    if (out < 1 || in < 1 || out > kMost || in > kMost) damaged("has a shape out of range");
    module_.shape = {out, in};
  }

  const TensorInfo& part(std::string_view suffix) const {
    const TensorInfo* info = source_.find(module_.name + std::string(suffix));
    if (!info) damaged(fmt::format("stands without the tensor '{}{}'", module_.name, suffix));
    return *info;
  }

  void check_bytes(const TensorInfo& info, int64_t bytes) const {
    if (info.bytes != bytes)
      throw DamagedFile(
          fmt::format("{}: tensor '{}' has {} bytes, where {} belong to a weight of shape {}; "
                      "download it again",
                      source_.path(), info.name, info.bytes, bytes, module_.shape.to_string()));
  }

  const TensorSource& source_;
  QuantisedModule module_;
  nlohmann::json state_;
};

}  // namespace

std::vector<QuantisedModule> find_quantised_modules(const TensorSource& source) {
  std::vector<QuantisedModule> modules;
  for (const TensorInfo& info : source.tensors())
    if (info.name.find(kState) != std::string::npos)
      modules.push_back(StateReader(source, info).read());
  return modules;
}

bool is_quant_part(std::string_view name) {
  for (const std::string_view part :
       {".weight.absmax", ".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map"})
    if (name.ends_with(part)) return true;
  return name.find(kState) != std::string_view::npos;
}

std::string make_quant_state(const QuantisedModule& module, std::string_view dtype) {
  // In the order of bitsandbytes, which its own reader does not need.
  nlohmann::ordered_json state = {{"quant_type", module.type},
                                  {"blocksize", module.block},
                                  {"dtype", dtype},
                                  {"shape", {module.shape[0], module.shape[1]}}};
  if (module.nested) {
    state["nested_blocksize"] = kNestedBlock;
    state["nested_dtype"] = "float32";
    state["nested_offset"] = module.nested_offset;
  }
  return state.dump();
}

std::string quant_state_name(const QuantisedModule& module) {
  return module.name + std::string(kState) + module.type;
}

}  // namespace cairn
