// Added tokens: texts that become one id wherever they occur, before anything else looks at the
// text. The leftmost match wins, and of those the longest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct AddedToken {
  int32_t id = 0;
  std::string content = {};
  std::string reads_as = {};  // what it decodes to: the content, normalized if it is looked for so
  bool single_word = false;   // only between characters that are not of a word
  bool lstrip = false;        // takes the white space before it along
  bool rstrip = false;        // and after it
  bool normalized = false;    // looked for after normalization, as its content normalized
  bool special = false;       // left out of decoded text on request
};

// A stretch of text: an added token, or what lies between two.
struct TextOrToken {
  std::string_view text;
  int32_t id = -1;  // of an added token; -1 is text
};

class AddedTokenMatcher {
 public:
  // Looks for `text`, which must not be empty, as the token. Of two alike the first stays.
  void add(std::string_view text, const AddedToken& token);
  // `text` must be valid UTF-8 and outlive the answer. No stretch of text is empty.
  std::vector<TextOrToken> split(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<unsigned char, uint32_t>> children;  // byte -> node
    int32_t token = -1;                                        // index in tokens_
  };
  struct Match {
    size_t bytes = 0;
    const AddedToken* token = nullptr;
  };
  const uint32_t* child(uint32_t node, unsigned char byte) const;
  Match longest_at(std::string_view text) const;

  std::vector<Node> nodes_ = {Node()};
  std::vector<AddedToken> tokens_;
  bool begins_[256] = {};
};

}  // namespace cairn
