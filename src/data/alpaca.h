// Alpaca rows: one prompt, one response, and what may stand beside them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/conversation.h"
#include "data/dataset_info.h"

namespace cairn {

struct AlpacaRow {
  Conversation conversation;
  std::string skipped;  // why the row cannot be used; empty when it can
};

AlpacaRow alpaca_row(const nlohmann::json& record, const AlpacaColumns& columns);

}  // namespace cairn
