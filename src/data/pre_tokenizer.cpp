// The steps of a pre-tokenizer: Split, Digits and ByteLevel, alone or in a Sequence.
#include "data/pre_tokenizer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/byte_level.h"
#include "data/json_field.h"
#include "data/regex.h"
#include "data/stretches.h"
#include "data/utf8.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr const char* kWhere = "tokenizer.json: pre_tokenizer";

Stretches match_literal(std::string_view text, std::string_view literal) {
  StretchList list(text.size());
  if (!literal.empty())
    for (size_t at = text.find(literal); at != text.npos;
         at = text.find(literal, at + literal.size()))
      list.add_match(at, at + literal.size());
  return list.take();
}

Stretches match_regex(std::string_view text, const Regex& regex) {
  StretchList list(text.size());
  regex.for_each_match(text, [&](size_t begin, size_t end) { list.add_match(begin, end); });
  return list.take();
}

Stretches match_digits(std::string_view text) {
  StretchList list(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    if (is_numeric(point.value)) list.add_match(at, at + point.bytes);
    at += point.bytes;
  }
  return list.take();
}

}  // namespace

struct PreTokenizer::Step {
  virtual ~Step() = default;
  virtual bool is_byte_level() const { return false; }
  // Appends the pieces of `text`.
  virtual void cut(std::string_view text, Pieces& pieces) const = 0;
};

namespace {

template <class Base>
struct SplitStep : Base {
  std::optional<Regex> regex;  // else the literal
  std::string literal;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;

  void cut(std::string_view text, Pieces& pieces) const override {
    Stretches stretches = regex ? match_regex(text, *regex) : match_literal(text, literal);
    if (invert)
      for (Stretch& stretch : stretches) stretch.match = !stretch.match;
    append_pieces(std::move(stretches), behavior, text, pieces.views);
  }
};

template <class Base>
struct DigitsStep : Base {
  bool individual = false;

  void cut(std::string_view text, Pieces& pieces) const override {
    append_pieces(match_digits(text),
                  individual ? SplitBehavior::isolated : SplitBehavior::contiguous, text,
                  pieces.views);
  }
};

template <class Base>
struct ByteLevelStep : Base {
  bool add_prefix_space = true;
  std::optional<Regex> regex;

  bool is_byte_level() const override { return true; }
  void cut(std::string_view text, Pieces& pieces) const override {
    if (add_prefix_space && !text.starts_with(' ')) {
      pieces.owned.push_back(" " + std::string(text));
      text = pieces.owned.back();
    }
    if (regex)
      append_pieces(match_regex(text, *regex), SplitBehavior::isolated, text, pieces.views);
    else
      pieces.views.push_back(text);
  }
};

template <class Step>
std::unique_ptr<Step> make_split(const json& description) {
  auto step = std::make_unique<SplitStep<Step>>();
  const json& pattern = field_of(description, "pattern", kWhere);
  if (pattern.is_object() && pattern.contains("Regex"))
    step->regex.emplace(string_field(pattern, "Regex", "", kWhere));
  else
    step->literal = string_field(pattern, "String", "", kWhere);
  step->behavior = split_behavior_from(string_field(description, "behavior", "", kWhere));
  step->invert = bool_field(description, "invert", false, kWhere);
  return step;
}

template <class Step>
std::unique_ptr<Step> make_digits(const json& description) {
  auto step = std::make_unique<DigitsStep<Step>>();
  step->individual = bool_field(description, "individual_digits", false, kWhere);
  return step;
}

template <class Step>
std::unique_ptr<Step> make_byte_level(const json& description) {
  auto step = std::make_unique<ByteLevelStep<Step>>();
  step->add_prefix_space = bool_field(description, "add_prefix_space", true, kWhere);
  if (bool_field(description, "use_regex", true, kWhere)) step->regex.emplace(kByteLevelPattern);
  return step;
}

}  // namespace

PreTokenizer::PreTokenizer(const json& description) {
  if (!description.is_null()) add(description);
  if (steps_.empty() || !steps_.back()->is_byte_level())
    throw UserError(
        "tokenizer.json describes a BPE whose pre_tokenizer does not end with \"ByteLevel\"; only "
        "byte-level BPE tokenizers (GPT-2, Llama 3, Qwen, SmolLM) are built");
}

PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::add(const json& description) {
  const std::string type = string_field(description, "type", "", kWhere);
  if (type == "Sequence") {
    for (const json& part : field_of(description, "pretokenizers", kWhere)) add(part);
    return;
  }
  if (!steps_.empty() && steps_.back()->is_byte_level())
    throw UserError(fmt::format(
        "tokenizer.json runs the pre-tokenizer \"{}\" after \"ByteLevel\", which is not built; "
        "ByteLevel must come last",
        type));
  if (type == "Split")
    steps_.push_back(make_split<Step>(description));
  else if (type == "Digits")
    steps_.push_back(make_digits<Step>(description));
  else if (type == "ByteLevel")
    steps_.push_back(make_byte_level<Step>(description));
  else
    throw UserError(
        fmt::format("tokenizer.json asks for the pre-tokenizer type \"{}\", which is not built; "
                    "built are Split, Digits, ByteLevel and a Sequence of them",
                    type));
}

Pieces PreTokenizer::cut(std::string_view text) const {
  Pieces pieces;
  if (!text.empty()) pieces.views.push_back(text);
  for (const auto& step : steps_) {
    const std::vector<std::string_view> before = std::exchange(pieces.views, {});
    for (const std::string_view piece : before) step->cut(piece, pieces);
  }
  return pieces;
}

}  // namespace cairn
