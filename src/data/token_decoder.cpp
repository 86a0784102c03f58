// The steps of a decoder, each on the whole list of tokens, as in the Hugging Face library.
#include "data/token_decoder.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "data/json_field.h"
#include "data/normalizer.h"
#include "data/utf8.h"

namespace cairn {
namespace {

using nlohmann::json;

constexpr const char* kWhere = "tokenizer.json: decoder";

// The byte of a token written <0x0A>.
std::optional<char> byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(byte);
}

// Runs of byte tokens read as UTF-8; a run that is none becomes one U+FFFD a byte.
void join_bytes(std::vector<std::string>& tokens) {
  std::vector<std::string> joined;
  std::string run;
  const auto end_run = [&] {
    if (run.empty()) return;
    if (is_valid_utf8(run)) {
      joined.push_back(run);
    } else {
      for (size_t i = 0; i < run.size(); ++i) joined.emplace_back("\xEF\xBF\xBD");
    }
    run.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = byte_of(token)) {
      run += *byte;
    } else {
      end_run();
      joined.push_back(std::move(token));
    }
  }
  end_run();
  tokens = std::move(joined);
}

void fuse(std::vector<std::string>& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens = {all};
}

// Takes `content` off each token, at most so many times from each side.
void strip(std::vector<std::string>& tokens, const std::string& content, int64_t start,
           int64_t stop) {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (int64_t i = 0; i < start && rest.starts_with(content) && !content.empty(); ++i)
      rest.remove_prefix(content.size());
    for (int64_t i = 0; i < stop && rest.ends_with(content) && !content.empty(); ++i)
      rest.remove_suffix(content.size());
    token = std::string(rest);
  }
}

int64_t count_field(const json& description, const char* key) {
  const json& value = field_of(description, key, kWhere);
  if (value.is_null()) return 0;
  if (!value.is_number_integer() || value < 0)
    throw DamagedFile(
        fmt::format("{}: `{}` should be a count, but is {}", kWhere, key, value.dump()));
  return value.get<int64_t>();
}

}  // namespace

TokenDecoder::TokenDecoder(const json& description) {
  if (!description.is_null()) add(description);
}

void TokenDecoder::add(const json& description) {
  const std::string type = string_field(description, "type", "", kWhere);
  if (type == "Sequence") {
    for (const json& part : list_field(description, "decoders", kWhere)) add(part);
  } else if (type == "ByteLevel") {
    byte_level_ = true;
  } else if (type == "ByteFallback") {
    steps_.emplace_back(join_bytes);
  } else if (type == "Fuse") {
    steps_.emplace_back(fuse);
  } else if (type == "Replace") {
    steps_.emplace_back(
        [replace = make_replacement(pattern_field(description, kWhere),
                                    string_field(description, "content", "", kWhere))](
            std::vector<std::string>& tokens) {
          for (std::string& token : tokens) token = replace(std::move(token));
        });
  } else if (type == "Strip") {
    steps_.emplace_back(
        [content = string_field(description, "content", " ", kWhere),
         start = count_field(description, "start"), stop = count_field(description, "stop")](
            std::vector<std::string>& tokens) { strip(tokens, content, start, stop); });
  } else if (type == "Metaspace") {
    const bool prepends =
        string_field(description, "prepend_scheme", "always", kWhere) != "never" &&
        bool_field(description, "add_prefix_space", true, kWhere);
    TextPattern mark = {false, character_field(description, "replacement", "\u2581", kWhere)};
    steps_.emplace_back([prepends, replace = make_replacement(std::move(mark), " ")](
                            std::vector<std::string>& tokens) {
      for (std::string& token : tokens) token = replace(std::move(token));
      if (prepends && !tokens.empty() && tokens.front().starts_with(' '))
        tokens.front().erase(0, 1);
    });
  } else {
    throw UserError(fmt::format(
        "tokenizer.json asks for the decoder type \"{}\", which is not built; built are ByteLevel, "
        "ByteFallback, Fuse, Replace, Strip, Metaspace and a Sequence of them",
        type));
  }
}

std::string TokenDecoder::decode(std::vector<std::string> tokens) const {
  const auto bytes_of = [&] {
    return std::accumulate(
        tokens.begin(), tokens.end(), size_t{0},
        [](size_t bytes, const std::string& token) { return bytes + token.size(); });
  };
  const size_t bytes = bytes_of();
  for (const Step& step : steps_) {
    step(tokens);
    check_growth(bytes, bytes_of(), "decoder");
  }
  fuse(tokens);
  return std::move(tokens.front());
}

}  // namespace cairn
