// Document blocks: texts of a pre-training run joined end to end and cut into blocks of one length,
// by LLaMA-Factory's rules. A block is one example: what stands in it sees all before it.
#pragma once

#include <cstdint>
#include <optional>

#include "data/chat_template.h"
#include "data/example_set.h"
#include "data/token_cache.h"

namespace cairn {

struct BlockOptions {
  int64_t block = 2048;            // tokens
  int64_t rows_at_a_time = 1000;   // what is left of so many documents is dropped
  std::optional<int32_t> begin;    // put in the place of each block's first token
  std::optional<int32_t> ignored;  // an id that is never trained
};

// Throws UserError when the documents do not fill one block.
ExampleSet join_documents(const ExampleSet& documents, const BlockOptions& options,
                          const TokenCache& cache);

// The padding token, which Hugging Face's collator for language modelling never trains, also where
// it stands for the end of a text because the tokenizer has none of its own.
std::optional<int32_t> ignored_id(const ChatTemplate& chat_template, const Tokenizer& tokenizer);

}  // namespace cairn
