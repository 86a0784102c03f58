// Tokenizer: text to token ids and back, as a Hugging Face tokenizer.json says. Byte-level BPE
// (GPT-2, Llama 3, Qwen, SmolLM) and SentencePiece's BPE with bytes (Llama 2, Mistral, Gemma); what
// the file asks for and is not built is refused by its name.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

class Tokenizer {
 public:
  // tokenizer_config (tokenizer_config.json, or null) names bos, eos and pad. Throws UserError for
  // a type that is not built, DamagedFile for contents that contradict each other.
  static Tokenizer from_json(const nlohmann::json& tokenizer_json,
                             const nlohmann::json& tokenizer_config);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // As encode(add_special_tokens=False): added tokens in the text are recognised, none is added.
  // Invalid UTF-8 reads as U+FFFD. May be called from several threads.
  std::vector<int32_t> encode(std::string_view text) const;
  // skip_special leaves out the tokens marked special. Bytes that are not UTF-8 read as U+FFFD.
  // Throws UserError for an id outside the vocabulary.
  std::string decode(std::span<const int32_t> ids, bool skip_special) const;

  std::optional<int32_t> id_of(std::string_view token) const;
  // One token by itself, as it is written before the decoder joins it to others; bytes that are not
  // UTF-8 read as U+FFFD.
  std::string text_of(int32_t id) const;
  std::optional<int32_t> bos() const;
  std::optional<int32_t> eos() const;
  // Whether the files name a token for padding. One that the vocabulary lacks pads for others,
  // who add it, and has no id here.
  bool names_pad() const;
  std::optional<int32_t> pad() const;
  // Whether its files put the beginning of text before every text.
  bool adds_bos() const;
  // Largest id + 1 over vocabulary and added tokens: the embedding needs at least so many rows.
  int64_t vocab_size() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
