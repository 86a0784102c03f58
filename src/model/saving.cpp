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
  Streamer(const Exec& exec, const Model& model, DType storage, Peers* peers)
      : exec_(exec),
        peers_(peers),
        converted_(exec.make(Account::workspace, "save piece", storage, {kPieceElements})),
        host_(exec.make(Account::workspace, "save piece on host", storage, {kPieceElements})) {
    for (const Parameter& parameter : model.parameters())
      if (parameter.cut.value && !room_)
        room_ = exec.make(Account::workspace, "save piece of a rank", DType::f32, {kPieceElements});
  }

  // Without a writer it only hands over what is cut.
  template <typename Writer>
  void write(Parameter& parameter, const std::string& name, Writer* writer) {
    if (!writer && !parameter.cut.value) return;
    for (int64_t begin = 0; begin < parameter.elements();) {
      const int64_t count = count_of_piece(parameter, begin);
      const ConstView values = fetch(parameter, begin, count);
      if (writer) append(values, name, *writer);
      begin += count;
    }
  }

 private:
  // Pieces end where a rank's share does.
  static int64_t count_of_piece(const Parameter& parameter, int64_t begin) {
    int64_t count = std::min(kPieceElements, parameter.elements() - begin);
    if (parameter.cut.value)
      count = std::min(count, parameter.cut.share - begin % parameter.cut.share);
    return count;
  }

  ConstView fetch(Parameter& parameter, int64_t begin, int64_t count) {
    if (!parameter.cut.value)
      return parameter.value.view_as({parameter.elements()}).view_rows(begin, count);
    CAIRN_CHECK(peers_, "[save] wanted peers for a weight whose value is cut, got none");
    return peers_->fetch(parameter, begin, count,
                         View(room_.view().data(), parameter.storage, {count}));
  }

  template <typename Writer>
  void append(ConstView values, const std::string& name, Writer& writer) {
    const View piece = converted_.view_rows(values.rows()), host = host_.view_rows(values.rows());
    ops::convert(exec_, values, piece);
    exec_.backend.device().copy_to_host(exec_.stream, piece.data(), host.data(), piece.bytes());
    exec_.backend.device().wait(exec_.stream);
    writer.append(name, {host.data(), static_cast<size_t>(host.bytes())});
  }

  const Exec& exec_;
  Peers* peers_;
  Tensor converted_, host_;
  Tensor room_;  // [kPieceElements] f32, or as many bf16, if any value is cut
};

DType adapter_storage(const Model& model) {
  return model.spec().precision == TrainedPrecision::f32 ? DType::f32 : DType::bf16;
}

}  // namespace

void save_adapter(const Exec& exec, Model& model, const std::string* folder,
                  const std::string& base_model, Peers* peers) {
  const DType storage = adapter_storage(model);
  Streamer streamer(exec, model, storage, peers);
  if (!folder) {
    for (Parameter& parameter : model.parameters())
      if (parameter.in_adapter_file())
        streamer.write<SafetensorsWriter>(parameter, parameter.name_in_adapter(), nullptr);
    return;
  }
  std::vector<TensorSpec> specs;
  for (const Parameter& parameter : model.parameters())
    if (parameter.in_adapter_file())
      specs.push_back({parameter.name_in_adapter(), file_type_of(storage), parameter.shape});
  SafetensorsWriter writer(*folder + "/adapter_model.safetensors", specs, {{"format", "pt"}});
  for (Parameter& parameter : model.parameters())
    if (parameter.in_adapter_file())
      streamer.write(parameter, parameter.name_in_adapter(), &writer);
  writer.finish();
  write_text(*folder + "/adapter_config.json",
             make_adapter_config(*model.spec().lora, base_model).dump(2) + "\n");
}

void save_model(const Exec& exec, Model& model, const std::string* folder, const ModelFiles* base,
                DType storage, Peers* peers) {
  Streamer streamer(exec, model, storage, peers);
  if (!folder) {
    for (Parameter& parameter : model.parameters())
      streamer.write<HfWeightsWriter>(parameter, parameter.name, nullptr);
    return;
  }
  std::vector<TensorSpec> specs;
  for (const Parameter& parameter : model.parameters())
    specs.push_back({parameter.name, file_type_of(storage), parameter.shape});
  HfWeightsWriter writer(*folder, specs);
  for (Parameter& parameter : model.parameters())
    streamer.write(parameter, parameter.name, &writer);
  writer.finish();
  write_model_json(*base, base->config, storage, *folder);
}

}  // namespace cairn
