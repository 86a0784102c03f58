#include "data/document_blocks.h"

#include "base/error.h"
#include "data/tokenized_data.h"

namespace cairn {
namespace {

// Of what the blocks come from: the stores are named by their contents.
std::string key_of(const ExampleSet& documents, const BlockOptions& options) {
  ContentHash hash;
  hash.add("blocks").add(options.block).add(options.rows_at_a_time);
  hash.add(options.begin.value_or(-1)).add(options.ignored.value_or(-1));
  for (const auto& store : documents.stores())
    hash.add(std::filesystem::path(store->path()).filename().string());
  for (const ExamplePlace place : documents.places())
    hash.add(int64_t{place.store} << 32 | int64_t{place.example});
  return hash.hex();
}

Example block_of(const std::vector<int32_t>& ids, size_t begin, const BlockOptions& options) {
  const auto from = ids.begin() + static_cast<ptrdiff_t>(begin);
  Example example;
  example.ids.assign(from, from + static_cast<ptrdiff_t>(options.block));
  if (options.begin) example.ids[0] = *options.begin;
  for (const int32_t id : example.ids)
    example.labels.push_back(options.ignored == id ? kIgnored : id);
  return example;
}

}  // namespace

ExampleSet join_documents(const ExampleSet& documents, const BlockOptions& options,
                          const TokenCache& cache) {
  int64_t tokens = 0;
  for (int64_t i = 0; i < documents.size(); ++i) tokens += documents.size_of(i).tokens;
  const auto store = cache.open(key_of(documents, options), [&](TokenStoreWriter& writer) {
    std::vector<int32_t> joined;  // of the documents at hand, whole blocks taken out
    size_t taken = 0;
    for (int64_t i = 0; i < documents.size(); ++i) {
      if (i % options.rows_at_a_time == 0) joined.clear(), taken = 0;
      const Example document = documents.read(i);
      joined.insert(joined.end(), document.ids.begin(), document.ids.end());
      const auto block = static_cast<size_t>(options.block);
      for (; joined.size() - taken >= block; taken += block)
        writer.append(block_of(joined, taken, options), false);
      joined.erase(joined.begin(), joined.begin() + static_cast<ptrdiff_t>(taken));
      taken = 0;
    }
    writer.finish(nlohmann::json::object());
  });
  if (store->size() == 0)
    throw UserError(fmt::format(
        "the documents hold {} tokens, which is less than one block of cutoff_len {}; lower "
        "cutoff_len, add text, or set packing: false to train on each document by itself",
        tokens, options.block));
  std::vector<ExamplePlace> places;
  for (uint32_t i = 0; i < store->size(); ++i)
    if (store->at(i).trained_labels > 0) places.push_back({0, i});
  return {{store}, std::move(places)};
}

std::optional<int32_t> ignored_id(const ChatTemplate& chat_template, const Tokenizer& tokenizer) {
  return tokenizer.names_pad() ? tokenizer.pad() : chat_template.end_of_text(tokenizer);
}

Example encode_document(std::string_view text, const ChatTemplate& chat_template,
                        const Tokenizer& tokenizer, bool begins) {
  std::optional<int32_t> eos = chat_template.end_of_text(tokenizer);
  if (chat_template.name() == "llama3")
    if (const auto id = tokenizer.id_of("<|end_of_text|>")) eos = id;
  if (!eos)
    throw UserError(
        "a text of pre-training ends in the end-of-text token, but this tokenizer has none; give "
        "eos_token in tokenizer_config.json");
  const auto spelled = [&](int32_t id) { return tokenizer.decode(std::vector{id}, false); };
  // Tokenised as one text, as a token may take the white space beside it along.
  const std::string bos = begins && tokenizer.adds_bos() ? spelled(*tokenizer.bos()) : "";
  Example example;
  example.ids = tokenizer.encode(fmt::format("{}{}{}", bos, text, spelled(*eos)));
  const std::optional<int32_t> ignored = ignored_id(chat_template, tokenizer);
  for (const int32_t id : example.ids) example.labels.push_back(ignored == id ? kIgnored : id);
  return example;
}

}  // namespace cairn
