#include "data_row.h"

#include <fmt/format.h>

namespace cairn::program {
namespace {

// On one line, with line feeds and quotes escaped.
std::string shown(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::vector<TokenSpan> spans_of(const Example& example) {
  std::vector<TokenSpan> spans;
  for (int64_t t = 0; t < example.tokens(); ++t) {
    const bool trained = example.labels[static_cast<size_t>(t)] != kIgnored;
    if (spans.empty() || spans.back().trained != trained) spans.push_back({t, t, trained});
    spans.back().end = t + 1;
  }
  return spans;
}

std::string row_text(const Example& example, const Tokenizer& tokenizer, bool colours) {
  std::string text = fmt::format("{:>8} {:>8} {:>8}  {}\n", "position", "token", "label", "text");
  for (const TokenSpan& span : spans_of(example)) {
    text += span.trained ? "-- trained\n" : "-- not trained\n";
    for (int64_t t = span.begin; t < span.end; ++t) {
      const int32_t id = example.ids[static_cast<size_t>(t)];
      const int32_t label = example.labels[static_cast<size_t>(t)];
      const std::string line =
          fmt::format("{:>8} {:>8} {:>8}  {}", t, id, label, shown(tokenizer.text_of(id)));
      text += colours && span.trained ? fmt::format("\x1b[32m{}\x1b[0m\n", line) : line + "\n";
    }
  }
  return text;
}

nlohmann::ordered_json row_json(const Example& example, const Tokenizer& tokenizer) {
  nlohmann::ordered_json row, texts = nlohmann::ordered_json::array(), spans = texts;
  for (const int32_t id : example.ids) texts.push_back(tokenizer.text_of(id));
  for (const TokenSpan& span : spans_of(example))
    spans.push_back({{"begin", span.begin}, {"end", span.end}, {"trained", span.trained}});
  row["ids"] = example.ids;
  row["labels"] = example.labels;
  row["texts"] = std::move(texts);
  row["spans"] = std::move(spans);
  row["text"] = tokenizer.decode(example.ids, false);
  return row;
}

}  // namespace cairn::program
