#include "plan/plan.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "model/known_models.h"
#include "plan/choose_policy.h"
#include "train/attention_choice.h"
#include "train/deepspeed/deepspeed_recipe.h"

namespace cairn {
namespace {

std::string explain_policy(const Plan& plan) {
  const std::string words = to_string(plan.recipe.memory.checkpointing);
  if (plan.asked_checkpointing.is_auto())
    return fmt::format("gradient checkpointing was left to the plan: '{}' is the {} that it found",
                       words, plan.fits() ? "fastest that fits" : "leanest");
  if (words == "none")
    return "gradient checkpointing is off: every block keeps what its backward needs";
  if (words == "block")
    return "gradient checkpointing keeps one input per block and computes the rest again";
  return fmt::format("gradient checkpointing is '{}'", words);
}

void explain_states(Plan& plan) {
  const StateSummary& states = plan.rehearsal.states;
  if (states.elements_8bit > 0)
    plan.why.push_back(fmt::format(
        "the optimizer keeps {} parameters in 8 bits, {:.3f} bytes each, and {} in 32 bits: "
        "embeddings and tensors under {} elements",
        states.elements_8bit, states.bytes_per_8bit_parameter(), states.elements_wider,
        kLeast8BitElements));
  const OptimizerSettings& optimizer = plan.spec.optimizer;
  if (optimizer.place != StatePlace::paged) return;
  plan.why.push_back(
      states.page_bytes == 0
          ? fmt::format("paged states all fit into page_resident, {}: nothing moves",
                        format_bytes(optimizer.page_resident))
          : fmt::format("{} of states live in the page file and pass once a step, there and back, "
                        "through page_resident, {}",
                        format_bytes(states.page_bytes), format_bytes(optimizer.page_resident)));
}

void explain_weights(Plan& plan) {
  const QuantisedWeights& quantised = plan.rehearsal.quantised;
  if (quantised.elements > 0)
    plan.why.push_back(fmt::format("{} frozen weights are held in 4 bits, {:.4f} bytes each",
                                   quantised.elements, quantised.bytes_per_weight()));
}

void explain_sharding(Plan& plan, const TargetProfile& profile) {
  const int64_t stage = plan.spec.sharding.stage;
  const int ranks = plan.spec.world.size;
  if (ranks == 1) {
    if (stage > 0) plan.why.push_back(kOneRankSharesNothing);
    return;
  }
  constexpr const char* kept[] = {
      "keeps all weights, gradients and optimizer states",
      "keeps all weights and gradients, and its share of the optimizer's states",
      "keeps all weights, and its share of gradients and optimizer states",
      "keeps its share of weights, gradients and optimizer states"};
  const bool streams = plan.spec.model.streams_weights;
  plan.why.push_back(
      fmt::format("zero_stage: {} on {} ranks: each {}{}; the accounts are those of "
                  "one rank, and all ranks' are equal",
                  stage, ranks, kept[stage],
                  streams ? ", and reads frozen blocks from a page file of its own" : ""));
  const double bytes = plan.rehearsal.step_work.link_bytes;
  plan.why.push_back(
      fmt::format("a step sends {} from each rank to the others, {:.1f} s at the {}/s that the "
                  "profile of '{}' has, beside computing",
                  format_bytes(static_cast<int64_t>(bytes)), bytes / profile.link_bytes_per_second,
                  format_bytes(static_cast<int64_t>(profile.link_bytes_per_second)), profile.name));
}

void explain(Plan& plan, const TargetProfile& profile) {
  const auto& accounts = plan.rehearsal.snapshot.accounts_at_peak();
  const auto largest =
      static_cast<size_t>(std::max_element(accounts.begin(), accounts.end()) - accounts.begin());
  plan.why.push_back(
      fmt::format("the peak is in phase '{}'; its largest account is {}, {}",
                  name_of(plan.rehearsal.snapshot.peak_phase[static_cast<size_t>(Place::device)]),
                  name_of(kAccounts[largest]), format_bytes(accounts[largest])));
  plan.why.push_back(explain_policy(plan));
  explain_weights(plan);
  explain_states(plan);
  if (plan.spec.model.attention == AttentionKind::materialised)
    plan.why.push_back(
        "flash_attn: disabled keeps the probabilities of every head: its memory grows with the "
        "square of the longest sample");
  if (plan.spec.model.streams_weights) {
    const Work& work = plan.rehearsal.step_work;
    plan.why.push_back(fmt::format(
        "weights_place: paged keeps two blocks' frozen weights in memory; a step moves {} to and "
        "from the page file, {:.1f} s at the {}/s {}, beside computing",
        format_bytes(static_cast<int64_t>(work.page_bytes)),
        work.page_bytes / profile.page_bytes_per_second,
        format_bytes(static_cast<int64_t>(profile.page_bytes_per_second)),
        profile.measured ? "that cairn calibrate measured"
                         : "that many disks do (cairn calibrate measures this one)"));
  }
  if (plan.spec.model.unit_gradients)
    plan.why.push_back(
        plan.spec.max_grad_norm > 0 && !plan.spec.clips_by_unit
            ? "optimizer_in_backward: the norm of all gradients takes a forward and backward of "
              "its own, which the step's time includes; max_grad_norm: 0 or max_grad_norm_per_unit "
              "need none"
            : "optimizer_in_backward: gradients live while their block's backward runs");
  explain_sharding(plan, profile);
  if (!plan.fits())
    plan.why.push_back(fmt::format(
        "{} are needed, {} more than the budget of {}", format_bytes(plan.needed_bytes()),
        format_bytes(plan.needed_bytes() - plan.budget_bytes), format_bytes(plan.budget_bytes)));
}

// Beyond any machine, and little enough that their bytes over all layers are counted in 64 bits.
void check_probabilities(const TrainSpec& spec) {
  if (spec.model.attention != AttentionKind::materialised) return;
  constexpr double kMostProbabilities = 0x1p48;
  for (const Capacity& capacity : {spec.capacity, spec.eval_capacity.value_or(Capacity())}) {
    const double count = static_cast<double>(capacity.tokens) *
                         static_cast<double>(spec.model.config.num_heads) *
                         static_cast<double>(capacity.longest_segment);
    if (count > kMostProbabilities)
      throw UserError(fmt::format(
          "flash_attn: disabled keeps {:.3g} probabilities a layer here, where {:.3g} is the most "
          "that is sensible; use flash_attn: auto, or lower cutoff_len",
          count, kMostProbabilities));
  }
}

// Puts a policy in the place of auto, prices the members of selective, and rehearses.
void settle_policy(Plan& plan, const TargetProfile& profile) {
  PolicyChoice& choice = plan.recipe.memory.checkpointing;
  const int64_t accumulation = plan.recipe.train.gradient_accumulation_steps;
  const int64_t num_blocks = plan.spec.model.config.num_layers;
  MemberSet selected = kCheapMembers;
  if (choice.is_auto() || choice.uses(PolicyKind::selective))
    selected = choose_selective(plan.spec, profile);
  if (choice.is_auto()) {
    ChosenPolicy chosen = choose_policy(plan.spec, selected, accumulation, profile,
                                        plan.budget_bytes - plan.runtime_bytes);
    choice = std::move(chosen.choice);
    plan.rehearsal = std::move(chosen.rehearsal);
    plan.spec.checkpointing = make_policy(choice, num_blocks, selected);
    return;
  }
  plan.spec.checkpointing = make_policy(choice, num_blocks, selected);
  plan.rehearsal = rehearse(plan.spec, accumulation, profile);
}

// Where the plan does not fit, smaller chunks of logits may save it. They cost a walk over the
// head's weight each, so the default stays wherever it fits, and where no chunk helps.
void settle_loss_chunk(Plan& plan, const TargetProfile& profile) {
  if (plan.recipe.memory.loss_chunk != 0) return;
  const int64_t rows = plan.spec.capacity.labelled_rows;
  const Model model(plan.spec.model);
  const Parameter& vocabulary = *model.head().vocabulary.weight;
  const int64_t least = least_loss_chunk(vocabulary, rows, true);
  int64_t chunk =
      std::min(default_loss_chunk(vocabulary, rows, true), round_up(rows, kLossTile)) / 2;
  int64_t needed = plan.needed_bytes();
  for (; chunk >= least && !plan.fits(); chunk /= 2) {
    Plan smaller = plan;
    smaller.recipe.memory.loss_chunk = smaller.spec.model.loss_chunk = chunk;
    smaller.recipe.memory.checkpointing = plan.asked_checkpointing;
    settle_policy(smaller, profile);
    const int64_t saved = needed - smaller.needed_bytes();
    needed = smaller.needed_bytes();
    // Each halving saves half of what the one before it did.
    if (saved <= 0 || needed - plan.budget_bytes > saved) return;
    if (smaller.fits()) plan = std::move(smaller);
  }
}

Plan make_plan(const Recipe& recipe, const TrainSpec& spec, const TargetProfile& profile,
               int64_t budget_bytes, int64_t runtime_bytes) {
  check_probabilities(spec);
  Plan plan;
  plan.recipe = recipe;
  plan.spec = spec;
  plan.budget_bytes = budget_bytes;
  plan.runtime_bytes = runtime_bytes;
  plan.tokens_per_step =
      recipe.train.gradient_accumulation_steps * spec.capacity.tokens * spec.world.size;
  plan.asked_checkpointing = recipe.memory.checkpointing;
  settle_policy(plan, profile);
  settle_loss_chunk(plan, profile);
  if (recipe.memory.loss_chunk == 0 && plan.recipe.memory.loss_chunk > 0)
    plan.why.push_back(fmt::format(
        "loss_chunk was left to the plan: logits of {} tokens at a time, so that the step fits",
        plan.recipe.memory.loss_chunk));
  explain(plan, profile);
  if (const auto choice = choose_attention(recipe.model.flash_attn, profile);
      !choice.remark.empty())
    plan.why.push_back(choice.remark);
  return plan;
}

}  // namespace

ModelConfig find_model_config(const std::string& name, const std::filesystem::path& recipe_folder) {
  const std::string path = find_path(name, recipe_folder);
  std::error_code ignored;  // a name that no file system takes is nowhere
  if (std::filesystem::exists(path, ignored)) return parse_model_config(read_config(path));
  if (const auto known = find_known_model(name)) return *known;
  throw UserError(fmt::format(
      "'{}' is neither a model folder, a config.json or a GGUF file here, nor a known name; known "
      "names are {}",
      name, fmt::join(known_model_names(), ", ")));
}

Plan plan_run(const PreparedRun& run, const TargetProfile& profile, int64_t budget_bytes,
              int64_t runtime_bytes) {
  return make_plan(run.recipe, run.spec, profile, budget_bytes, runtime_bytes);
}

Plan plan_recipe(const Recipe& recipe, const ModelConfig& config, const TargetProfile& profile,
                 int64_t budget_bytes, int64_t runtime_bytes, World world) {
  // Nobody said how many ranks there will be where it is one.
  check_deepspeed_agrees(
      recipe, {world.size > 1 ? std::optional<int64_t>(world.size) : std::nullopt, {}, {}});
  TrainSpec spec = make_train_spec(recipe, config);
  spec.world = world;
  if (recipe.data.val_size > 0 || !recipe.data.eval_dataset.empty())
    spec.eval_capacity =
        make_full_capacity(recipe.train.per_device_eval_batch_size, recipe.data.cutoff_len);
  Plan plan = make_plan(recipe, spec, profile, budget_bytes, runtime_bytes);
  if (recipe.data.packing)
    plan.why.push_back(fmt::format(
        "without the data, each packed row is taken to be one sample of {} tokens, all labelled",
        recipe.data.cutoff_len));
  return plan;
}

}  // namespace cairn
