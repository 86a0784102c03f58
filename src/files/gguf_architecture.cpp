#include "files/gguf_architecture.h"

#include <array>

#include "base/error.h"

namespace cairn {
namespace {

constexpr std::array kArchitectures = {
    GgufArchitecture{"llama", "llama", "LlamaForCausalLM", true},
    GgufArchitecture{"qwen2", "qwen2", "Qwen2ForCausalLM"},
    GgufArchitecture{"qwen3", "qwen3", "Qwen3ForCausalLM"},
    GgufArchitecture{"gemma2", "gemma2", "Gemma2ForCausalLM", false, true},
    GgufArchitecture{"gemma3", "gemma3_text", "Gemma3ForCausalLM", false, true},
    GgufArchitecture{"phi3", "phi3", "Phi3ForCausalLM", false, false, true},
};

}  // namespace

const GgufArchitecture& architecture_of(const GgufFile& gguf) {
  const std::string name = gguf.text("general.architecture");
  std::string known;
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (architecture.name == name) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  throw UserError(
      fmt::format("{} holds a model of architecture {}, which Cairn does not train: it knows "
                  "{}.",
                  gguf.path(), name, known));
}

}  // namespace cairn
