// One row of a recipe's data as people read it: token by token, which of them train, and where
// prompt and answer meet.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/example.h"
#include "data/tokenizer.h"

namespace cairn::program {

// A stretch of tokens that all train, or of which none does.
struct TokenSpan {
  int64_t begin, end;  // tokens
  bool trained;
};
std::vector<TokenSpan> spans_of(const Example& example);

// A line for each token, an empty line where training begins or ends. `colours`: trained tokens
// stand out on a terminal.
std::string row_text(const Example& example, const Tokenizer& tokenizer, bool colours);
nlohmann::ordered_json row_json(const Example& example, const Tokenizer& tokenizer);

}  // namespace cairn::program
