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

namespace {

[[noreturn]] void refuse_pattern(std::string_view pattern, std::string_view what) {
  throw UserError(
      fmt::format("the tokenizer's pattern `{}` has {}, which is not built", pattern, what));
}

// Of what both can read, what means another thing in Oniguruma.
void refuse_other_meaning(std::string_view pattern, size_t at, bool in_class) {
  const std::string_view rest = pattern.substr(at);
  if (in_class && rest.starts_with("&&"))
    refuse_pattern(pattern, "an intersection of classes (&&)");
  if (in_class && rest.starts_with("[") && !rest.starts_with("[:"))
    refuse_pattern(pattern, "a class inside of a class");
  if (in_class || !rest.starts_with("(?")) return;
  const size_t end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", 2);
  if (end != rest.npos && (rest[end] == ':' || rest[end] == ')') &&
      rest.substr(0, end).find('m') != rest.npos)
    refuse_pattern(pattern, "the option (?m)");
}

}  // namespace

std::string to_pcre(std::string_view oniguruma_pattern) {
  constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";
  std::string pcre;
  bool in_class = false;
  for (size_t i = 0; i < oniguruma_pattern.size(); ++i) {
    const char c = oniguruma_pattern[i];
    if (c != '\\' || i + 1 == oniguruma_pattern.size()) {
      refuse_other_meaning(oniguruma_pattern, i, in_class);
      const size_t named = oniguruma_pattern.substr(i).starts_with("[:")
                               ? oniguruma_pattern.find(":]", i + 2)
                               : std::string_view::npos;
      if (in_class && named != std::string_view::npos) {
        pcre += oniguruma_pattern.substr(i, named + 2 - i);
        i = named + 1;
        continue;
      }
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      pcre += c;
      continue;
    }
    const char escaped = oniguruma_pattern[++i];
    if (escaped == 'C')
      refuse_pattern(oniguruma_pattern, "\\C");
    else if (escaped == 's')
      pcre += R"(\p{White_Space})";
    else if (escaped == 'S')
      pcre += R"(\P{White_Space})";
    else if (escaped == 'w')
      pcre += in_class ? std::string(kWord) : fmt::format("[{}]", kWord);
    else if (escaped == 'W' && !in_class)
      pcre += fmt::format("[^{}]", kWord);
    else if (escaped == 'H' && !in_class)
      pcre += "[^0-9a-fA-F]";
    else if (escaped == 'W' || escaped == 'H')
      refuse_pattern(oniguruma_pattern, fmt::format("\\{} inside of a class", escaped));
    else if (escaped == 'v')
      pcre += R"(\x0B)";
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
  // As in Ruby's syntax, ^ and $ mean the ends of a line. A match never begins or ends inside of a
  // character, as texts are not checked again.
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre.data()), pcre.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                  &code, &offset, context.get());
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
