// Remarks: what the user should know of a run before it starts, one sentence each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/chat_template.h"
#include "train/prepare.h"

namespace cairn {

std::vector<std::string> remarks_of(const PreparedRun& run, const ChatTemplate& chat_template,
                                    const Tokenizer& tokenizer);

// For `what` of so many tokens, more than the positions that the model's configuration names.
std::string past_positions_remark(std::string_view what, int64_t tokens, const ModelConfig& config);

}  // namespace cairn
