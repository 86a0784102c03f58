// Regex: the patterns of a tokenizer.json, which are written for Oniguruma, matched by PCRE2 over
// UTF-8 with Unicode classes. Compiled once, used from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cairn {

class Regex {
 public:
  // Throws UserError with the pattern and the place in it when it cannot be compiled.
  explicit Regex(std::string_view pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // Calls found(begin, end) for each match from left to right, never overlapping, never empty.
  // `text` must be valid UTF-8.
  void for_each_match(std::string_view text,
                      const std::function<void(size_t begin, size_t end)>& found) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// The same pattern in PCRE2's words: \s, \S, \w, \W, \h, \H and \v differ between the two in a few
// code points or altogether. Throws UserError for what PCRE2 would read and mean otherwise.
std::string to_pcre(std::string_view oniguruma_pattern);

}  // namespace cairn
