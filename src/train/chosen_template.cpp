// The nearest template by the markers of the tokenizer's own, and its end of text in model files.
#include "train/chosen_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

using nlohmann::json;

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

// One id, or a list of them; nothing of any other kind.
json listed_ids(const json& ids) {
  if (ids.is_array()) return ids;
  return ids.is_number_integer() ? json::array({ids}) : json::array();
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

void save_end_of_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                      ModelFiles& files) {
  const std::optional<int32_t> trained = chat_template.end_of_text(tokenizer);
  if (!trained || trained == tokenizer.eos()) return;
  files.tokenizer_config["eos_token"] = tokenizer.text_of(*trained);
  files.config["eos_token_id"] = *trained;
  if (!files.generation_config.is_object()) return;
  json& ids = files.generation_config["eos_token_id"];
  json all = json::array({*trained});
  for (const json& id : listed_ids(ids))
    if (id != *trained) all.push_back(id);
  ids = all.size() == 1 ? all.front() : all;
}

}  // namespace cairn
