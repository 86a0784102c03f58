// Reading YAML with yaml-cpp and JSON with nlohmann into the same plain values. Both libraries keep
// the last of two equal keys or give no error for them; a recipe that says two things is refused
// here.
#include "train/recipe_source.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "data/utf8.h"

namespace cairn {
namespace {

bool means_null(const std::string& text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

void refuse_twice(const std::string& key, std::string_view where) {
  throw UserError(fmt::format(
      "{} is given twice ({}); a key may be given once, keep the one you mean", key, where));
}

void refuse_other_than_utf8(std::string_view text, std::string_view where) {
  if (!is_valid_utf8(text))
    throw UserError(fmt::format("{} holds bytes that are not UTF-8; save it as UTF-8 text", where));
}

// A file as a whole. Both parsers end in silence at a control character: JSON's at a byte of zero,
// YAML's at 0x04.
void refuse_other_than_text(std::string_view text, std::string_view origin) {
  refuse_other_than_utf8(text, origin);
  const auto found = std::find_if(text.begin(), text.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 && letter != '\t' && letter != '\n' &&
           letter != '\r';
  });
  if (found == text.end()) return;
  throw UserError(fmt::format("{}, line {} holds the control character 0x{:02x}; save it as text",
                              origin, std::count(text.begin(), found, '\n') + 1,
                              static_cast<int>(*found)));
}

std::string place_of(const YAML::Mark& mark, std::string_view origin) {
  return mark.is_null() ? std::string(origin) : fmt::format("{}, line {}", origin, mark.line + 1);
}

// A recipe nests twice at most; the limit keeps a broken file, or a YAML alias of itself, off the
// stack.
constexpr int kDeepest = 32;

void refuse_too_deep(int depth, std::string_view where) {
  if (depth > kDeepest)
    throw UserError(
        fmt::format("{} nests more than {} levels deep; wanted lines of the form 'key: "
                    "value'",
                    where, kDeepest));
}

// Plain values out of YAML's nodes. An alias is written out, so a few lines of them may stand for
// any number of values: they are counted.
class NodeReader {
 public:
  explicit NodeReader(std::string_view origin) : origin_(origin) {}

  // Of a mapping whose own keys come after `prefix`.
  GivenKeys members_of(const YAML::Node& node, const std::string& prefix, int depth) {
    GivenKeys keys;
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string where = place_of(entry.first.Mark(), origin_);
      if (!entry.first.IsScalar())
        throw UserError(
            fmt::format("{}: wanted a key that is a word, got a list or mapping", where));
      const std::string& key = entry.first.Scalar();
      if (!seen.insert(key).second) refuse_twice(prefix + key, where);
      keys.push_back({key, given_of(entry.second, prefix + key, depth)});
    }
    return keys;
  }

  Given given_of(const YAML::Node& node, const std::string& key, int depth) {
    refuse_too_deep(depth, origin_);
    if (++values_ > kMostValues)
      throw UserError(
          fmt::format("{} holds more than {} values, its aliases written out; a recipe has some "
                      "dozens: write those that are meant",
                      origin_, kMostValues));
    Given given;
    given.where = place_of(node.Mark(), origin_);
    if (node.IsScalar()) {
      given.text = node.Scalar();
      // The escapes \_ and \N come out of yaml-cpp as single bytes.
      refuse_other_than_utf8(given.text, given.where);
      // yaml-cpp tags quoted scalars "!": they are text even when they spell null.
      const bool quoted = node.Tag() == "!";
      given.kind = !quoted && means_null(given.text) ? Given::Kind::null : Given::Kind::scalar;
    } else if (node.IsSequence()) {
      given.kind = Given::Kind::sequence;
      for (const YAML::Node& item : node) given.items.push_back(given_of(item, key, depth + 1));
    } else if (node.IsMap()) {
      given.kind = Given::Kind::mapping;
      given.members = members_of(node, key + ".", depth + 1);
    }
    return given;
  }

 private:
  static constexpr int64_t kMostValues = 10'000;  // a recipe has some dozens

  std::string_view origin_;
  int64_t values_ = 0;
};

// Refuses a second document. YAML::Load would drop it in silence, and YAML::LoadAll never ends over
// some broken lines.
class SingleDocument : public YAML::EventHandler {
 public:
  explicit SingleDocument(std::string_view origin) : origin_(origin) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      throw UserError(
          fmt::format("{}: the YAML document ends before this line; wanted one document "
                      "with lines of the form 'key: value'",
                      place_of(mark, origin_)));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  std::string_view origin_;
  int documents_ = 0;
};

YAML::Node load_yaml(const std::string& text, std::string_view origin) {
  refuse_other_than_text(text, origin);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    SingleDocument single(origin);
    while (parser.HandleNextDocument(single)) {
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw UserError(fmt::format("{} is not valid YAML: {}; wanted lines of the form 'key: value'",
                                place_of(error.mark, origin), error.msg));
  }
}

Given given_of(const nlohmann::ordered_json& value, std::string_view origin) {
  Given given;
  given.where = origin;
  if (value.is_object()) {
    given.kind = Given::Kind::mapping;
    for (const auto& [key, member] : value.items())
      given.members.push_back({key, given_of(member, origin)});
  } else if (value.is_array()) {
    given.kind = Given::Kind::sequence;
    for (const auto& item : value) given.items.push_back(given_of(item, origin));
  } else if (!value.is_null()) {
    given.kind = Given::Kind::scalar;
    given.text = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return given;
}

Given& member_for(GivenKeys& keys, const std::string& key) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const auto& entry) { return entry.name == key; });
  if (found != keys.end()) return found->value;
  keys.push_back({key, Given{}});
  return keys.back().value;
}

// A list, a mapping or a quoted text is YAML; all else is taken as it is: in a path, # begins no
// comment.
Given override_value(const std::string& value, const std::string& path, std::string_view origin) {
  const size_t begin = value.find_first_not_of(" \t\n"), end = value.find_last_not_of(" \t\n");
  if (std::string_view("[{\"'").find(value[begin]) != std::string_view::npos)
    return NodeReader(origin).given_of(load_yaml(value, origin), path, 1);
  refuse_other_than_text(value, origin);
  Given given;
  given.text = value.substr(begin, end + 1 - begin);
  given.kind = means_null(given.text) ? Given::Kind::null : Given::Kind::scalar;
  return given;
}

}  // namespace

std::string shown(const Given& given) {
  switch (given.kind) {
    case Given::Kind::null:
      return "null";
    case Given::Kind::scalar:
      return fmt::format("'{}'", given.text);
    case Given::Kind::sequence:
      return "a list";
    case Given::Kind::mapping:
      break;
  }
  return "a mapping";
}

std::string shown_place(const Given& given) {
  return given.where.empty() ? "" : fmt::format(" ({})", given.where);
}

GivenKeys parse_yaml_keys(std::string_view text, std::string_view origin) {
  const YAML::Node document = load_yaml(std::string(text), origin);
  if (document.IsNull()) return {};
  if (!document.IsMap())
    throw UserError(
        fmt::format("{} is not a recipe; wanted lines of the form 'key: value'", origin));
  return NodeReader(origin).members_of(document, "", 1);
}

GivenKeys parse_json_keys(std::string_view text, std::string_view origin, std::string_view kind) {
  refuse_other_than_text(text, origin);
  std::vector<std::set<std::string>> seen;  // of each object that is open
  const auto watch_keys = [&](int depth, nlohmann::ordered_json::parse_event_t event,
                              nlohmann::ordered_json& parsed) {
    refuse_too_deep(depth, origin);
    using Event = nlohmann::ordered_json::parse_event_t;
    if (event == Event::object_start) seen.emplace_back();
    if (event == Event::object_end) seen.pop_back();
    if (event == Event::key && !seen.back().insert(parsed.get<std::string>()).second)
      refuse_twice(parsed.get<std::string>(), origin);
    return true;
  };
  nlohmann::ordered_json object;
  try {
    object = nlohmann::ordered_json::parse(text, watch_keys);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    throw UserError(
        fmt::format("{} is not valid JSON at byte {}; wanted one object {{\"key\": value}}", origin,
                    error.byte));
  } catch (const nlohmann::ordered_json::out_of_range&) {
    throw UserError(
        fmt::format("{} holds a number that is too large; wanted one that a double can "
                    "hold",
                    origin));
  }
  if (!object.is_object())
    throw UserError(fmt::format("{} is not {}; wanted one JSON object", origin, kind));
  return given_of(object, origin).members;
}

void apply_override(GivenKeys& keys, std::string_view key_and_value) {
  const size_t equals = key_and_value.find('=');
  const std::string path(key_and_value.substr(0, equals));
  if (equals == std::string_view::npos || path.empty())
    throw UserError(fmt::format(
        "'{}' is not an override; write key=value, such as learning_rate=1e-4", key_and_value));
  constexpr std::string_view origin = "on the command line";
  const std::string value(key_and_value.substr(equals + 1));
  if (value.find_first_not_of(" \t\n") == std::string::npos)
    throw UserError(fmt::format(
        "{}: the override is empty; write {}=VALUE, or {}=null for the default", path, path, path));
  Given given = override_value(value, path, origin);
  given.where = origin;

  GivenKeys* level = &keys;
  size_t begin = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    Given& outer = member_for(*level, path.substr(begin, dot - begin));
    if (outer.kind != Given::Kind::mapping) outer = Given{Given::Kind::mapping, {}, {}, {}, ""};
    outer.where = origin;
    level = &outer.members;
    begin = dot + 1;
  }
  member_for(*level, path.substr(begin)) = std::move(given);
}

}  // namespace cairn
