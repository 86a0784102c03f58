#include "model/saving.h"

#include <algorithm>

#include "base/bytes.h"
#include "files/hf_folder.h"
#include "model/adapter.h"
#include "ops/moving.h"

namespace cairn {
namespace {

constexpr int64_t kPieceElements = 512 * 1024;

// Pieces of parameters, converted on the device and brought to the host.
class Streamer {
 public:
  Streamer(const Exec& exec, DType storage)
      : exec_(exec),
        converted_(exec.make(Account::workspace, "save piece", storage, {kPieceElements})),
        host_(exec.make(Account::workspace, "save piece on host", storage, {kPieceElements})) {}

  template <typename Writer>
  void write(const Parameter& parameter, const std::string& name, Writer& writer) {
    const ConstView all = parameter.value.view_as({parameter.elements()});
    for (int64_t begin = 0; begin < all.rows(); begin += kPieceElements) {
      const int64_t count = std::min(kPieceElements, all.rows() - begin);
      const View piece = converted_.view_rows(count), host = host_.view_rows(count);
      ops::convert(exec_, all.view_rows(begin, count), piece);
      exec_.backend.device().copy_to_host(exec_.stream, piece.data(), host.data(), piece.bytes());
      exec_.backend.device().wait(exec_.stream);
      writer.append(name, {host.data(), static_cast<size_t>(host.bytes())});
    }
  }

 private:
  const Exec& exec_;
  Tensor converted_, host_;
};

DType adapter_storage(const Model& model) {
  return model.spec().precision == TrainedPrecision::f32 ? DType::f32 : DType::bf16;
}

}  // namespace

void save_adapter(const Exec& exec, const Model& model, const std::string* folder,
                  const std::string& base_model) {
  const DType storage = adapter_storage(model);
  Streamer streamer(exec, storage);
  if (!folder) return;
  std::vector<TensorSpec> specs;
  for (const Parameter& parameter : model.parameters())
    if (parameter.in_adapter_file())
      specs.push_back({parameter.name_in_adapter(), file_type_of(storage), parameter.shape});
  SafetensorsWriter writer(*folder + "/adapter_model.safetensors", specs, {{"format", "pt"}});
  for (const Parameter& parameter : model.parameters())
    if (parameter.in_adapter_file()) streamer.write(parameter, parameter.name_in_adapter(), writer);
  writer.finish();
  write_text(*folder + "/adapter_config.json",
             make_adapter_config(*model.spec().lora, base_model).dump(2) + "\n");
}

void save_model(const Exec& exec, const Model& model, const std::string* folder,
                const ModelFiles* base, DType storage) {
  Streamer streamer(exec, storage);
  if (!folder) return;
  std::vector<TensorSpec> specs;
  for (const Parameter& parameter : model.parameters())
    specs.push_back({parameter.name, file_type_of(storage), parameter.shape});
  HfWeightsWriter writer(*folder, specs);
  for (const Parameter& parameter : model.parameters())
    streamer.write(parameter, parameter.name, writer);
  writer.finish();
  write_model_json(*base, *folder);
}

}  // namespace cairn
