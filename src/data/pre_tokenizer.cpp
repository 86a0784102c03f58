// The steps of a pre-tokenizer, alone or in a Sequence.
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

// Each character of a class by itself.
Stretches match_characters(std::string_view text, bool (*is_of)(char32_t)) {
  StretchList list(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    if (is_of(point.value)) list.add_match(at, at + point.bytes);
    at += point.bytes;
  }
  return list.take();
}

}  // namespace

struct PreTokenizer::Step {
  virtual ~Step() = default;
  virtual bool is_byte_level() const { return false; }
  // Appends the pieces of `text`; `begins` as for PreTokenizer::cut.
  virtual void cut(std::string_view text, bool begins, Pieces& pieces) const = 0;
};

namespace {

template <class Base>
struct SplitStep : Base {
  std::optional<Regex> regex;  // else the literal
  std::string literal;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;

  void cut(std::string_view text, bool, Pieces& pieces) const override {
    Stretches stretches = regex ? match_regex(text, *regex) : match_literal(text, literal);
    if (invert)
      for (Stretch& stretch : stretches) stretch.match = !stretch.match;
    append_pieces(std::move(stretches), behavior, text, pieces.views);
  }
};

// Digits, Punctuation, WhitespaceSplit: characters of a class.
template <class Base>
struct CharactersStep : Base {
  bool (*is_of)(char32_t) = is_numeric;
  SplitBehavior behavior = SplitBehavior::contiguous;

  void cut(std::string_view text, bool, Pieces& pieces) const override {
    append_pieces(match_characters(text, is_of), behavior, text, pieces.views);
  }
};

enum class PrependScheme : uint8_t { always, first, never };

// SentencePiece's way with spaces: written as a mark, one more before the text.
template <class Base>
struct MetaspaceStep : Base {
  std::string mark;
  PrependScheme prepend = PrependScheme::always;
  bool splits = true;

  void cut(std::string_view text, bool begins, Pieces& pieces) const override {
    std::string marked;
    for (const char c : text) c == ' ' ? marked.append(mark) : marked.append(1, c);
    const bool prepends =
        prepend == PrependScheme::always || (prepend == PrependScheme::first && begins);
    if (prepends && !marked.starts_with(mark)) marked.insert(0, mark);
    const std::string_view whole = pieces.owned.emplace_back(std::move(marked));
    if (splits)
      append_pieces(match_literal(whole, mark), SplitBehavior::merged_with_next, whole,
                    pieces.views);
    else
      pieces.views.push_back(whole);
  }
};

template <class Base>
struct ByteLevelStep : Base {
  bool add_prefix_space = true;
  std::optional<Regex> regex;

  bool is_byte_level() const override { return true; }
  void cut(std::string_view text, bool, Pieces& pieces) const override {
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
  TextPattern pattern = pattern_field(description, kWhere);
  if (pattern.is_regex)
    step->regex.emplace(pattern.text);
  else
    step->literal = std::move(pattern.text);
  step->behavior = split_behavior_from(string_field(description, "behavior", "", kWhere));
  step->invert = bool_field(description, "invert", false, kWhere);
  return step;
}

template <class Step>
std::unique_ptr<Step> make_characters(bool (*is_of)(char32_t), SplitBehavior behavior) {
  auto step = std::make_unique<CharactersStep<Step>>();
  step->is_of = is_of;
  step->behavior = behavior;
  return step;
}

template <class Step>
std::unique_ptr<Step> make_digits(const json& description) {
  const bool individual = bool_field(description, "individual_digits", false, kWhere);
  return make_characters<Step>(is_numeric,
                               individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
}

template <class Step>
std::unique_ptr<Step> make_words() {
  auto step = std::make_unique<SplitStep<Step>>();
  step->regex.emplace(R"(\w+|[^\w\s]+)");
  step->behavior = SplitBehavior::removed;
  step->invert = true;
  return step;
}

template <class Step>
std::unique_ptr<Step> make_metaspace(const json& description) {
  auto step = std::make_unique<MetaspaceStep<Step>>();
  step->mark = character_field(description, "replacement", "\u2581", kWhere);
  step->splits = bool_field(description, "split", true, kWhere);
  // Older files say add_prefix_space instead.
  const bool prefix = bool_field(description, "add_prefix_space", true, kWhere);
  const std::string scheme =
      string_field(description, "prepend_scheme", prefix ? "always" : "never", kWhere);
  if (scheme != "always" && scheme != "first" && scheme != "never")
    throw UserError(fmt::format("{}: the prepend_scheme \"{}\" is not known", kWhere, scheme));
  step->prepend = scheme == "always"  ? PrependScheme::always
                  : scheme == "first" ? PrependScheme::first
                                      : PrependScheme::never;
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
}

bool PreTokenizer::is_byte_level() const {
  return !steps_.empty() && steps_.back()->is_byte_level();
}

PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::add(const json& description) {
  const std::string type = string_field(description, "type", "", kWhere);
  if (type == "Sequence") {
    for (const json& part : list_field(description, "pretokenizers", kWhere)) add(part);
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
  else if (type == "Metaspace")
    steps_.push_back(make_metaspace<Step>(description));
  else if (type == "Whitespace")
    steps_.push_back(make_words<Step>());
  else if (type == "WhitespaceSplit")
    steps_.push_back(make_characters<Step>(is_white_space, SplitBehavior::removed));
  else if (type == "Punctuation")
    steps_.push_back(make_characters<Step>(
        is_punctuation,
        split_behavior_from(string_field(description, "behavior", "Isolated", kWhere))));
  else
    throw UserError(
        fmt::format("tokenizer.json asks for the pre-tokenizer type \"{}\", which is not built; "
                    "built are Split, Digits, ByteLevel, Metaspace, Whitespace, WhitespaceSplit, "
                    "Punctuation and a Sequence of them",
                    type));
}

Pieces PreTokenizer::cut(std::string_view text, bool begins) const {
  Pieces pieces;
  if (!text.empty()) pieces.views.push_back(text);
  for (const auto& step : steps_) {
    const std::vector<std::string_view> before = std::exchange(pieces.views, {});
    bool first = begins;
    for (const std::string_view piece : before)
      step->cut(piece, std::exchange(first, false), pieces);
  }
  return pieces;
}

}  // namespace cairn
