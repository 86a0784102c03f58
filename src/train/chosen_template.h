// Which chat template is meant where a recipe or a prompt names none, and what the user should know
// of the choice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/chat_template.h"
#include "files/model_files.h"
#include "train/recipe.h"

namespace cairn {

// The template that the recipe names, else the one that is nearest to the tokenizer's own; a remark
// says so.
ChatTemplate template_of(const Recipe& recipe, const TokenizerFiles& files,
                         std::vector<std::string>& remarks);

// Names the markers that the tokenizer has no single token for; nothing where it has all.
std::optional<std::string> missing_markers_remark(const ChatTemplate& chat_template,
                                                  const Tokenizer& tokenizer);

// The end of text that the template trains, in the files that are saved beside a model: whoever
// loads them must stop there. generation_config.json goes on stopping where it did as well.
void save_end_of_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                      ModelFiles& files);

}  // namespace cairn
