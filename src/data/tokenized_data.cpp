// Stores of data sets, and the order of their rows.
#include "data/tokenized_data.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/document_blocks.h"
#include "data/tool_format.h"

namespace cairn {
namespace {

using nlohmann::json;

// Changes with what rows become, so that caches of earlier versions are not read.
constexpr int64_t kMeaning = 2;

json to_json(const DatasetCounts& counts) {
  return {{"name", counts.name},
          {"records", counts.records},
          {"used", counts.used},
          {"blank_lines", counts.blank_lines},
          {"string_encoded", counts.string_encoded},
          {"skipped", counts.skipped}};
}

DatasetCounts counts_from(const json& about) {
  DatasetCounts counts;
  counts.name = about.at("name");
  counts.records = about.at("records");
  counts.used = about.at("used");
  counts.blank_lines = about.at("blank_lines");
  counts.string_encoded = about.at("string_encoded");
  counts.skipped = about.at("skipped").get<std::map<std::string, int64_t>>();
  return counts;
}

class DataMaker {
 public:
  DataMaker(const DataOptions& options, const ChatTemplate& chat_template,
            const Tokenizer& tokenizer, const std::string& tokenizer_key)
      : options_(options),
        template_(chat_template),
        tokenizer_(tokenizer),
        tokenizer_key_(tokenizer_key),
        cache_(TokenCache::default_folder(), options.reads_cache) {
    if (options.encode.cutoff_len < 2)
      throw UserError(fmt::format(
          "cutoff_len should be at least 2, a token and the one it learns to predict, got {}",
          options.encode.cutoff_len));
    if (options.max_samples && *options.max_samples < 1)
      throw UserError(
          fmt::format("max_samples should be at least 1, got {}", *options.max_samples));
    if (options.encode.train_on_prompt && chat_template.has_efficient_eos())
      throw UserError(fmt::format(
          "train_on_prompt does not go with the template \"{}\", which ends a conversation only "
          "once; leave train_on_prompt out",
          chat_template.name()));
  }

  TokenizedData make() {
    std::vector<ExamplePlace> all = places_of(options_.names), train, validation;
    const SplitRows split =
        split_validation(static_cast<int64_t>(all.size()), options_.val_size, options_.seed);
    for (const int64_t i : split.train) train.push_back(all[static_cast<size_t>(i)]);
    for (const int64_t i : split.validation) validation.push_back(all[static_cast<size_t>(i)]);
    if (!options_.eval_names.empty()) validation = places_of(options_.eval_names);
    data_.train = finished(std::move(train));
    if (!validation.empty()) data_.validation = finished(std::move(validation));
    return std::move(data_);
  }

 private:
  bool joins() const { return options_.use == RowUse::document && options_.joins_documents; }

  std::vector<ExamplePlace> places_of(const std::vector<std::string>& names) {
    std::vector<std::vector<ExamplePlace>> places;  // [data sets]
    std::vector<int64_t> sizes;
    for (const DatasetEntry& entry :
         find_datasets(names, options_.dataset_dir, options_.find_file)) {
      const auto store = static_cast<uint32_t>(stores_.size());
      stores_.push_back(open_store(entry));
      DatasetCounts counts = counts_from(stores_.back()->about());
      counts.name = entry.name;
      const std::vector<int64_t> chosen =
          chosen_rows(counts, entry.num_samples, options_.max_samples, options_.choice_seed, store);
      std::vector<ExamplePlace>& of_entry = places.emplace_back();
      for (const int64_t i : chosen) of_entry.push_back({store, static_cast<uint32_t>(i)});
      sizes.push_back(static_cast<int64_t>(chosen.size()));
      data_.counts.push_back(std::move(counts));
      data_.notes.insert(data_.notes.end(), entry.notes.begin(), entry.notes.end());
    }
    // One alone is not mixed, so that shares of the training sets go with one to evaluate on.
    if (!options_.interleave_probs.empty() && sizes.size() > 1 &&
        options_.interleave_probs.size() != sizes.size())
      throw UserError(fmt::format("interleave_probs has {} shares for {} data sets; give one each",
                                  options_.interleave_probs.size(), sizes.size()));
    std::vector<ExamplePlace> mixed;
    for (const MixedRow& row :
         mixed_rows(sizes, options_.mix, options_.interleave_probs, options_.seed))
      mixed.push_back(places[row.dataset][static_cast<size_t>(row.row)]);
    return mixed;
  }

  // An entry's num_samples may take any row, so all are read then.
  std::optional<int64_t> most_of(const DatasetEntry& entry) const {
    return entry.num_samples ? std::nullopt : options_.max_samples;
  }

  std::string key_of(const DatasetEntry& entry) const {
    const EncodeOptions& encode = options_.encode;
    const TemplateOptions& words = encode.words;
    ContentHash hash;
    hash.add(kMeaning).add(tokenizer_key_).add(template_.described()).add(entry.described);
    hash.add(static_cast<int64_t>(entry.columns.index())).add(static_cast<int64_t>(options_.use));
    hash.add(most_of(entry).value_or(-1)).add(joins() ? -1 : encode.cutoff_len);
    hash.add(encode.train_on_prompt).add(encode.mask_history);
    hash.add(words.default_system ? "given " + *words.default_system : "");
    hash.add(words.enable_thinking ? (*words.enable_thinking ? 1 : 0) : 2);
    hash.add(words.preserve_thinking).add(words.tool_format).add(words.date);
    for (const auto& file : entry.files) {
      hash.add(file.extension().string());
      add_contents(hash, file);
    }
    return hash.hex();
  }

  std::shared_ptr<const TokenStore> open_store(const DatasetEntry& entry) const {
    return cache_.open(key_of(entry), [&](TokenStoreWriter& writer) {
      RowReader reader(entry, options_.use, most_of(entry));
      while (const auto row = reader.next()) {
        try {
          append(*row, writer);
        } catch (const UnusableRow& reason) {
          reader.skip(reason.what());
        }
      }
      writer.finish(to_json(reader.counts()));
    });
  }

  void append(const Conversation& row, TokenStoreWriter& writer) const {
    if (options_.use == RowUse::document) {
      Example example = encode_document(row.turns[0].content, template_, tokenizer_, !joins());
      example.origin = row.origin;
      const bool cut = !joins() && example.tokens() > options_.encode.cutoff_len;
      if (cut) {
        example.ids.resize(static_cast<size_t>(options_.encode.cutoff_len));
        example.labels.resize(example.ids.size());
      }
      writer.append(example, cut);
      return;
    }
    EncodedConversation encoded = template_.encode(row, tokenizer_, options_.encode);
    encoded.example.origin = row.origin;
    writer.append(encoded.example, encoded.truncated);
  }

  // What trains, and an account of what does not.
  ExampleSet finished(std::vector<ExamplePlace> places) {
    if (joins()) {
      const ExampleSet documents(stores_, std::move(places));
      return join_documents(documents,
                            {.block = options_.encode.cutoff_len,
                             .rows_at_a_time = options_.rows_at_a_time,
                             .begin = tokenizer_.adds_bos() ? tokenizer_.bos() : std::nullopt,
                             .ignored = ignored_id(template_, tokenizer_)},
                            cache_);
    }
    std::vector<ExamplePlace> kept;
    for (const ExamplePlace place : places) {
      const StoredExample& stored = stores_[place.store]->at(place.example);
      if (stored.trained_labels == 0) {
        ++data_.without_label;
        continue;
      }
      data_.truncated += stored.truncated;
      kept.push_back(place);
    }
    if (kept.empty())
      throw UserError(fmt::format(
          "none of the {} rows has a token to train on under the template \"{}\" and cutoff_len "
          "{}; check the response column, or raise cutoff_len",
          places.size(), template_.name(), options_.encode.cutoff_len));
    return {stores_, std::move(kept)};
  }

  const DataOptions& options_;
  const ChatTemplate& template_;
  const Tokenizer& tokenizer_;
  const std::string& tokenizer_key_;
  TokenCache cache_;
  TokenStores stores_;
  TokenizedData data_;
};

}  // namespace

TokenizedData tokenize_data(const DataOptions& options, const ChatTemplate& chat_template,
                            const Tokenizer& tokenizer, const std::string& tokenizer_key) {
  return DataMaker(options, chat_template, tokenizer, tokenizer_key).make();
}

}  // namespace cairn
