// The sentences of a prepared run's remarks.
#include "train/run_remarks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "train/chosen_template.h"

namespace cairn {
namespace {

std::string counted(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Before any stretching.
int64_t original_positions(const PreparedRun& run) {
  return parse_model_config(run.files.config).max_position;
}

std::string packing_remark(const PreparedRun& run) {
  const std::vector<Row>& rows = run.sampler->rows();
  const int64_t capacity = run.recipe.data.cutoff_len;
  int64_t tokens = 0;
  for (const Row& row : rows) tokens += row.tokens;
  const double places = static_cast<double>(capacity) * static_cast<double>(rows.size());
  return fmt::format("{} packed into {} of at most {} tokens: {:.1f} % filled",
                     counted(run.data.train.size(), "sample", "samples"),
                     counted(static_cast<int64_t>(rows.size()), "row", "rows"), capacity,
                     100 * static_cast<double>(tokens) / places);
}

// The adapter is saved without a config.json of its own.
std::string stretched_base_remark(const PreparedRun& run) {
  const nlohmann::json config =
      stretched_json(*run.recipe.model.rope_scaling, run.recipe.data.cutoff_len, run.files.config);
  const char* key = config.contains("rope_parameters") ? "rope_parameters" : "rope_scaling";
  return fmt::format(
      "rope_scaling stretches positions to {}: whoever loads the adapter gives its base the same, "
      "in config.json \"max_position_embeddings\": {} and \"{}\": {}",
      run.spec.model.config.max_position, run.spec.model.config.max_position, key,
      config[key].dump());
}

}  // namespace

std::string past_positions_remark(std::string_view what, int64_t tokens,
                                  const ModelConfig& config) {
  return fmt::format(
      "{} of {} tokens may go past max_position_embeddings, {}: the model was not trained so far",
      what, tokens, config.max_position);
}

std::vector<std::string> remarks_of(const PreparedRun& run, const ChatTemplate& chat_template,
                                    const Tokenizer& tokenizer) {
  std::vector<std::string> remarks;
  for (const Note& note : run.recipe.notes)
    remarks.push_back(fmt::format("{}: {}", note.key, note.text));
  const auto use_cache = run.files.config.find("use_cache");
  if (use_cache != run.files.config.end() && *use_cache == true)
    remarks.push_back(
        "use_cache: true in the model's config is for generation; training keeps no KV cache");
  if (!run.recipe.train.bf16)
    remarks.push_back(
        "without bf16: true, activations and frozen weights are held in f32, in twice the bytes");
  if (run.spec.model.parts_tied_head())
    remarks.push_back(
        "the head is tied to the embedding, and additional_target parts them, as in PEFT: what is "
        "trained is a copy, and the other side stays as it was");
  if (run.spec.model.quantisation && !run.spec.model.upcast_norms &&
      run.spec.model.frozen_storage == DType::bf16)
    remarks.push_back(
        "weights in 4 bits and norms in bf16: upcast_layernorm: true keeps the norms in f32, which "
        "is advised for them");
  if (run.spec.clips_by_unit && run.spec.max_grad_norm > 0)
    remarks.push_back(
        "max_grad_norm_per_unit: each block's gradient is clipped by its own norm, which is "
        "another "
        "meaning than max_grad_norm over all of them");
  for (const std::string& note : run.data.notes) remarks.push_back(note);
  for (const DatasetCounts& count : run.data.counts)
    for (const auto& [reason, rows] : count.skipped)
      remarks.push_back(
          fmt::format("{}: {} skipped: {}", count.name, counted(rows, "row", "rows"), reason));
  if (run.data.truncated > 0)
    remarks.push_back(fmt::format("{} cut at cutoff_len {}",
                                  counted(run.data.truncated, "example was", "examples were"),
                                  run.recipe.data.cutoff_len));
  if (run.data.without_label > 0)
    remarks.push_back(fmt::format("{} left out: nothing in {} would train",
                                  counted(run.data.without_label, "row was", "rows were"),
                                  run.data.without_label == 1 ? "it" : "them"));
  if (run.spec.capacity.longest_segment > run.spec.model.config.max_position)
    remarks.push_back(past_positions_remark("the longest sample", run.spec.capacity.longest_segment,
                                            run.spec.model.config));
  if (run.recipe.model.rope_scaling && run.recipe.data.cutoff_len <= original_positions(run))
    remarks.push_back(fmt::format(
        "rope_scaling: without effect, since cutoff_len {} is within the {} positions of the model",
        run.recipe.data.cutoff_len, original_positions(run)));
  if (run.recipe.model.rope_scaling && run.spec.model.lora &&
      run.recipe.data.cutoff_len > original_positions(run))
    remarks.push_back(stretched_base_remark(run));
  if (run.recipe.data.packing && run.recipe.method.stage == Stage::sft)
    remarks.push_back(packing_remark(run));
  if (auto missing = missing_markers_remark(chat_template, tokenizer))
    remarks.push_back(std::move(*missing));
  return remarks;
}

}  // namespace cairn
