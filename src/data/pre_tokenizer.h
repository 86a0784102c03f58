// PreTokenizer: cuts text into the pieces that BPE merges within. Pieces stay views of bytes: the
// alphabet of ByteLevel is applied to the vocabulary instead (byte_level.h), so ByteLevel must be
// the last step where there is one.
#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Pieces point into the text that was cut, or into `owned` where a step added to it.
struct Pieces {
  std::vector<std::string_view> views;
  std::deque<std::string> owned;
};

class PreTokenizer {
 public:
  // Of the field `pre_tokenizer`; null leaves text in one piece. Throws UserError naming a type
  // that is not built.
  explicit PreTokenizer(const nlohmann::json& description);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // Whether the last step asks for pieces in the byte-level alphabet.
  bool is_byte_level() const;
  // `text` must be valid UTF-8 and outlive the pieces. `begins` says that nothing stands before it,
  // not even an added token.
  Pieces cut(std::string_view text, bool begins) const;

 private:
  struct Step;
  void add(const nlohmann::json& description);

  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace cairn
