#include "model/generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "model/loading.h"

namespace cairn {

Generator::Generator(Backend& backend, Arena& arena, const GeneratorSpec& spec)
    : spec_(spec), exec_{backend, arena}, model_(spec.model) {
  check_saved_beside(model_);
  logits_.resize(static_cast<size_t>(spec.model.config.vocab));
}

void Generator::load(const TensorSource* base, const TensorSource* adapter) {
  const Arena::PhaseScope phase(exec_.arena, Phase::load);
  model_.allocate(exec_, spec_.capacity);
  cache_ =
      std::make_unique<KvCache>(exec_, model_.config(), spec_.model.activation, spec_.capacity);
  base_loaded_ = base != nullptr;
  if (base) model_.write_tables(exec_);
  load_weights(exec_, model_, base);
  if (spec_.model.lora) load_adapter(exec_, model_, adapter);
}

void Generator::pass(std::span<const int32_t> ids) {
  const Arena::PhaseScope phase(exec_.arena, Phase::generate);
  Device& device = exec_.backend.device();
  const auto count = static_cast<int32_t>(ids.size());
  std::vector<int32_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(cache_->length()));
  const std::vector<int32_t> cu_queries = {0, count};
  const std::vector<int32_t> cu_keys = {0, static_cast<int32_t>(cache_->length()) + count};

  const auto send = [&](std::string_view label, std::span<const int32_t> values, int64_t capacity) {
    Tensor tensor = exec_.make(Account::activations, label, DType::i32, {capacity});
    device.copy_to_device(exec_.stream, values.data(), tensor.view().data(),
                          static_cast<int64_t>(values.size_bytes()));
    return tensor;
  };
  const Tensor id_rows = send("ids", ids, spec_.piece);
  const Tensor position_rows = send("positions", positions, spec_.piece);
  const Tensor queries = send("cu queries", cu_queries, 2);
  const Tensor keys = send("cu keys", cu_keys, 2);
  Tensor logits =
      exec_.make(Account::workspace, "logits", DType::f32, {1, spec_.model.config.vocab});
  const Pass pass{.exec = exec_,
                  .capacity = {spec_.piece, 1, 0},
                  .extent = {count, 1, 0},
                  .activation = spec_.model.activation,
                  .ids = id_rows.view_rows(count),
                  .positions = position_rows.view_rows(count),
                  .cu_segments = queries.view(),
                  .labelled_rows = {},
                  .labels = {},
                  .rope_table = model_.rope_table(),
                  .local_rope_table = model_.local_rope_table()};
  model_.generate_pass(pass, *cache_, keys.view(), logits.view());
  device.copy_to_host(exec_.stream, logits.view().data(), logits_.data(), logits.bytes());
  device.wait(exec_.stream);
  if (base_loaded_ && !std::all_of(logits_.begin(), logits_.end(),
                                   [](float logit) { return std::isfinite(logit); }))
    throw NotFinite("the logits are not finite");
}

std::vector<int32_t> Generator::generate(std::vector<int32_t> prompt, int64_t max_new_tokens,
                                         const std::vector<int32_t>& stops,
                                         const SamplingSpec& sampling, uint64_t seed,
                                         const std::function<void(int32_t)>& on_token) {
  CAIRN_CHECK(!prompt.empty(), "[generate] wanted a prompt of at least one token, got none");
  for (size_t begin = 0; begin < prompt.size(); begin += static_cast<size_t>(spec_.piece)) {
    const size_t count = std::min(prompt.size() - begin, static_cast<size_t>(spec_.piece));
    pass(std::span(prompt).subspan(begin, count));
  }
  const Random random(seed);
  std::vector<int32_t> answer;
  for (int64_t i = 0; i < max_new_tokens && cache_->length() <= spec_.capacity; ++i) {
    const int32_t id = sample_token(logits_, sampling, random, static_cast<uint64_t>(i));
    if (std::find(stops.begin(), stops.end(), id) != stops.end()) break;
    answer.push_back(id);
    if (on_token) on_token(id);
    if (i + 1 < max_new_tokens && cache_->length() < spec_.capacity)
      pass(std::span(&answer.back(), 1));
    else
      break;
  }
  return answer;
}

}  // namespace cairn
