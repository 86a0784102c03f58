// Prepare: from a recipe to everything that decides a run's memory, before any weight is read: the
// model's shape, the tokenised data, the sampler's worst batch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/sampler.h"
#include "data/tokenized_data.h"
#include "files/model_files.h"
#include "train/recipe.h"
#include "train/resume.h"
#include "train/schedule.h"
#include "train/trainer.h"

namespace cairn {

struct PreparedRun {
  Recipe recipe;
  ModelFiles files;
  std::unique_ptr<TensorSource> adapter;  // one that the run continues, or none
  TokenizedData data;
  std::optional<Sampler> sampler;
  Schedule schedule;
  TrainSpec spec;                     // of this rank
  std::optional<ResumePoint> resume;  // where it begins; none: with step 1
  // Checkpoints of an earlier run, or of the branch that this one leaves by going on from before
  // them: they go once this run has one.
  std::vector<std::string> outdated_checkpoints;
  std::vector<std::string> remarks;  // what the user should know, one sentence each
};

// Opens and tokenises, for one rank of `world`. Throws UserError or DamagedFile.
PreparedRun prepare_run(const Recipe& recipe, World world = {});

// The tokens of a recipe's data, from the cache where they are there already, and what the user
// should know of them. Throws UserError or DamagedFile.
TokenizedData prepare_data(const Recipe& recipe, const ChatTemplate& chat_template,
                           const Tokenizer& tokenizer, const TokenizerFiles& files);
// What the recipe says of how rows become tokens.
EncodeOptions encode_options_of(const Recipe& recipe);

// What the recipe alone says of memory, for a model of that shape.
TrainSpec make_train_spec(const Recipe& recipe, const ModelConfig& config);

// The capacity when there is no data: every row labelled, each sample cutoff_len long.
Capacity make_full_capacity(int64_t batch_size, int64_t sequence);

// A path as written in a recipe: tried from the working directory, then from the recipe's folder
// and its parents; as it is if it is nowhere.
std::string find_path(const std::string& path, const std::filesystem::path& recipe_folder);

// The batches of an evaluation that a rank does, as many on every rank: the examples in order, a
// batch to each rank in turn, each read when it is its turn. Of no example, one token without a
// label.
int64_t count_eval_batches(const ExampleSet& examples, int64_t batch_size, World world = {});
Batch make_eval_batch(const ExampleSet& examples, int64_t batch_size, int64_t index,
                      World world = {});

}  // namespace cairn
