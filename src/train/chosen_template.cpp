// The nearest template by the markers of the tokenizer's own.
#include "train/chosen_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace cairn {
namespace {

// A template whose markers the tokenizer's own chat template has.
std::string nearest_template(const TokenizerFiles& files) {
  const auto own = files.tokenizer_config.is_object() ? files.tokenizer_config.find("chat_template")
                                                      : files.tokenizer_config.end();
  if (own == files.tokenizer_config.end() || !own->is_string()) return "";
  const auto& text = own->get_ref<const std::string&>();
  constexpr std::pair<const char*, const char*> kMarks[] = {
      {"<|start_header_id|>", "llama3"},    {"<start_of_turn>", "gemma"},
      {"<tool_response>", "qwen3_nothink"}, {"<|im_sep|>", "phi4"},
      {"<|im_start|>", "chatml"},           {"[INST]", "mistral"}};
  for (const auto& [mark, name] : kMarks)
    if (text.find(mark) != text.npos) return name;
  return "";
}

}  // namespace

ChatTemplate template_of(const Recipe& recipe, const TokenizerFiles& files,
                         std::vector<std::string>& remarks) {
  if (!recipe.data.template_name.empty()) return ChatTemplate::named(recipe.data.template_name);
  if (recipe.method.stage == Stage::pt) return ChatTemplate::named("empty");
  const std::string nearest = nearest_template(files);
  remarks.push_back(
      nearest.empty()
          ? "template is not given and the tokenizer has no chat template that is known: \"empty\" "
            "puts nothing between prompt and answer"
          : fmt::format("template is not given: \"{}\" is the nearest to the tokenizer's own chat "
                        "template",
                        nearest));
  return ChatTemplate::named(nearest.empty() ? "empty" : nearest);
}

std::optional<std::string> missing_markers_remark(const ChatTemplate& chat_template,
                                                  const Tokenizer& tokenizer) {
  const std::vector<std::string> missing = chat_template.missing_markers(tokenizer);
  if (missing.empty()) return std::nullopt;
  return fmt::format("the tokenizer has no single token for {} of template '{}'",
                     fmt::join(missing, " "), chat_template.name());
}

}  // namespace cairn
