// Generator: continues one sequence of tokens with a key/value cache. Its phases are load and
// generate; each pass, of a piece of the prompt or of one new token, is one run of the generate
// phase.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "files/tensor_source.h"
#include "model/model.h"
#include "model/sampling.h"

namespace cairn {

// An answer longer than any context.
inline constexpr int64_t kMostNewTokens = int64_t{1} << 20;

struct GeneratorSpec {
  ModelSpec model;       // of which nothing is trained
  int64_t capacity = 0;  // tokens of prompt and answer together
  int64_t piece = 256;   // prompt tokens in one pass
};

class Generator {
 public:
  Generator(Backend& backend, Arena& arena, const GeneratorSpec& spec);

  // A null base: rehearsal, nothing is read.
  void load(const TensorSource* base, const TensorSource* adapter);
  // Appends up to `max_new_tokens` ids to `prompt`, not empty; ends early at one of `stops`, which
  // is not returned. `on_token` sees each id at once.
  std::vector<int32_t> generate(std::vector<int32_t> prompt, int64_t max_new_tokens,
                                const std::vector<int32_t>& stops, const SamplingSpec& sampling,
                                uint64_t seed, const std::function<void(int32_t)>& on_token = {});
  // One pass over `ids`; leaves the logits of the last token in logits(). Throws NotFinite if they
  // are no numbers.
  void pass(std::span<const int32_t> ids);
  std::span<float> logits() { return logits_; }

 private:
  GeneratorSpec spec_;
  Exec exec_;
  Model model_;
  std::unique_ptr<KvCache> cache_;
  std::vector<float> logits_;  // [vocab] on the host
  bool base_loaded_ = false;   // false: rehearsal
};

}  // namespace cairn
