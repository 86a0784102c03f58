// TemplateRow: one chat template as plain data, in the terms of LLaMA-Factory's registry. A slot is
// tokenised by itself. {{content}} stands for the text of the turn; kBos and kEos are the
// tokenizer's own ids, and {{token:X}} is the id of X whether or not text may spell it.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn {

// How functions that may be called, and calls of them, are written (data/tool_format.h).
enum class ToolFormat : uint8_t {
  plain,  // LLaMA-Factory's "default"
  gemma4,
  glm4,
  glm4_moe,
  lfm2,
  ling,
  llama3,
  minimax1,
  minimax2,
  mistral,
  phi4_mini,
  qwen,
  qwen3_5,
  seed_oss
};

enum class TemplateKind : uint8_t {
  plain,
  fused,            // the system text is a part of the first user text
  reasoning,        // answers without a thought get an empty one
  reasoning_closed  // the same, and an empty thought is only its closing word
};

using Slots = std::vector<const char*>;

struct Words {
  const char* open;
  const char* close;
};

struct TemplateRow {
  const char* name = "";
  TemplateKind kind = TemplateKind::plain;
  Slots prefix = {};
  Slots system = {"{{content}}"};
  Slots user = {"{{content}}"};  // up to where the answer begins
  Slots assistant = {};          // empty: the content, and kEos unless efficient_eos
  Slots function = {};           // a turn of calls; empty: as assistant
  Slots observation = {};        // what calls gave; empty: as user
  ToolFormat calls = ToolFormat::plain;
  ToolFormat tools = ToolFormat::plain;
  const char* default_system = "";
  std::vector<const char*> stop_words = {};  // tokens that end an answer
  Words thought = {"<think>\n", "\n</think>\n\n"};
  Words call = {"<tool_call>", "</tool_call>"};  // around calls within a turn that says more
  bool efficient_eos = false;                    // end of text once, after the whole conversation
  bool replace_eos = false;                      // the first stop word is end of text
};

inline constexpr const char* kBos = "{{bos}}";
inline constexpr const char* kEos = "{{eos}}";
inline constexpr const char* kContent = "{{content}}";

// Slots that several templates share.
inline constexpr const char* kImUser =
    "<|im_start|>user\n{{content}}<|im_end|>\n<|im_start|>assistant\n";
inline constexpr const char* kImSystem = "<|im_start|>system\n{{content}}<|im_end|>\n";
inline constexpr const char* kImAnswer = "{{content}}<|im_end|>\n";
inline constexpr const char* kImTool =
    "<|im_start|>tool\n{{content}}<|im_end|>\n<|im_start|>assistant\n";
inline constexpr const char* kImToolResponse =
    "<|im_start|>user\n<tool_response>\n{{content}}\n</tool_response><|im_end|>\n"
    "<|im_start|>assistant\n";
inline constexpr const char* kHeaderSystem =
    "<|start_header_id|>system<|end_header_id|>\n\n{{content}}<|eot_id|>";
inline constexpr const char* kHeaderUser =
    "<|start_header_id|>user<|end_header_id|>\n\n{{content}}<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n";
inline constexpr const char* kHeaderTool =
    "<|start_header_id|>ipython<|end_header_id|>\n\n{{content}}<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n";
inline constexpr const char* kTurnUser =
    "<start_of_turn>user\n{{content}}<end_of_turn>\n<start_of_turn>model\n";
inline constexpr const char* kTurnTool =
    "<start_of_turn>tool\n{{content}}<end_of_turn>\n<start_of_turn>model\n";
inline constexpr const char* kMistralUser = "[INST] {{content}}[/INST]";
inline constexpr const char* kMistralCalls = "[TOOL_CALLS] {{content}}";
inline constexpr const char* kMistralResults =
    "[TOOL_RESULTS] {\"content\": {{content}}}[/TOOL_RESULTS]";

std::vector<TemplateRow> templates_a_g();
std::vector<TemplateRow> templates_h_m();
std::vector<TemplateRow> templates_n_z();

// All of them, in the order of their names. A name once only.
const std::vector<TemplateRow>& template_rows();

}  // namespace cairn
