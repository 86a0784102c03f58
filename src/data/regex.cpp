// PCRE2 behind Regex. With JIT where the machine has it; a match that outgrows its stack is done
// again by the interpreter.
#include "data/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

namespace cairn {
namespace {

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct Regex::Compiled {
  std::string pattern;
  pcre2_code* code = nullptr;
  ~Compiled() { pcre2_code_free(code); }
};

std::string to_pcre(std::string_view oniguruma_pattern) {
  constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";
  std::string pcre;
  bool in_class = false;
  for (size_t i = 0; i < oniguruma_pattern.size(); ++i) {
    const char c = oniguruma_pattern[i];
    if (c != '\\' || i + 1 == oniguruma_pattern.size()) {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      pcre += c;
      continue;
    }
    const char escaped = oniguruma_pattern[++i];
    if (escaped == 's')
      pcre += R"(\p{White_Space})";
    else if (escaped == 'S')
      pcre += R"(\P{White_Space})";
    else if (escaped == 'w')
      pcre += in_class ? std::string(kWord) : fmt::format("[{}]", kWord);
    else if (escaped == 'W' && !in_class)
      pcre += fmt::format("[^{}]", kWord);
    else if (escaped == 'h')
      pcre += in_class ? "0-9a-fA-F" : "[0-9a-fA-F]";
    else
      (pcre += '\\') += escaped;
  }
  return pcre;
}

Regex::Regex(std::string_view pattern) : compiled_(std::make_unique<Compiled>()) {
  compiled_->pattern = pattern;
  const std::string pcre = to_pcre(pattern);
  std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE offset = 0;
  // As in Ruby's syntax, ^ and $ mean the ends of a line.
  compiled_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre.data()), pcre.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &code, &offset, context.get());
  if (compiled_->code == nullptr)
    throw UserError(fmt::format("the tokenizer's pattern `{}` cannot be compiled: {} at offset {}",
                                pattern, message_of(code), offset));
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);
}

Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

void Regex::for_each_match(std::string_view text,
                           const std::function<void(size_t, size_t)>& found) const {
  std::unique_ptr<pcre2_match_data, FreeMatch> data(
      pcre2_match_data_create_from_pattern(compiled_->code, nullptr));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t from = 0;
  while (from < text.size()) {
    int result = pcre2_match(compiled_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK,
                             data.get(), nullptr);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
      result = pcre2_match(compiled_->code, subject, text.size(), from,
                           PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data.get(), nullptr);
    if (result == PCRE2_ERROR_NOMATCH) return;
    if (result < 0)
      throw UserError(fmt::format("the tokenizer's pattern `{}` gave up on a text of {} bytes: {}",
                                  compiled_->pattern, text.size(), message_of(result)));
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
    if (bounds[1] > bounds[0]) {
      found(bounds[0], bounds[1]);
      from = bounds[1];
    } else {
      from = bounds[0] + 1;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
    }
  }
}

}  // namespace cairn
