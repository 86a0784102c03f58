// From a DeepSpeed JSON to the fields of a recipe. Keys of Cairn's own that the recipe gives win.
#include <fmt/format.h>

#include "base/error.h"
#include "train/deepspeed/deepspeed_recipe.h"
#include "train/deepspeed/read_deepspeed.h"
#include "train/recipe_rules.h"

namespace cairn {
namespace {

class Applied {
 public:
  Applied(Recipe& recipe, const GivenKeys& keys)
      : recipe_(recipe), keys_(keys), config_(recipe.deepspeed.config) {}

  void set_sharding() {
    const DeepspeedZero& zero = config_.zero;
    ShardingSettings& sharding = recipe_.sharding;
    if (!given("zero_stage")) sharding.stage = zero.stage;
    if (!given("zero_overlap")) sharding.overlap = zero.overlap_comm.value_or(zero.stage == 3);
    if (!given("zero_gather_bucket")) sharding.gather_bucket = zero.allgather_bucket_size;
    set_size("zero_reduce_bucket", "reduce_bucket_size", zero.reduce_bucket_size,
             sharding.reduce_bucket, false);
    set_size("zero_prefetch", "stage3_prefetch_bucket_size", zero.stage3_prefetch_bucket_size,
             sharding.prefetch_elements, true);
    set_size("zero_persistence_threshold", "stage3_param_persistence_threshold",
             zero.stage3_param_persistence_threshold, sharding.persistence_threshold, true);
  }

  // DeepSpeed's bf16 holds trained weights and gradients in bf16 beside an f32 master.
  void set_precision() {
    const bool bf16 = config_.bf16.is_auto || config_.bf16.value == true;
    const bool pure =
        recipe_.train.trained_precision == TrainedPrecision::pure_bf16 || is_on(keys_, "pure_bf16");
    if (pure && recipe_.sharding.stage == 3)
      refuse(
          "pure_bf16 goes with stages 0 to 2 in LLaMA-Factory; leave it out, for bf16 weights "
          "with an f32 master that stage 3 splits");
    if (bf16 && recipe_.train.bf16 && !pure && !given("trained_precision"))
      recipe_.train.trained_precision = TrainedPrecision::mixed;
  }

  void set_places() {
    const DeepspeedZero& zero = config_.zero;
    MemoryRecipe& memory = recipe_.memory;
    for (const DeepspeedOffload& offload : {zero.offload_param, zero.offload_optimizer})
      if (offload.device == OffloadDevice::nvme && !given("page_dir"))
        memory.page_dir = offload.nvme_path;
    if (zero.offload_optimizer.device != OffloadDevice::none) page_optimizer();
    if (zero.offload_param.device != OffloadDevice::none) page_weights();
    if (!config_.cpu_checkpointing) return;
    if (asks_for_checkpointing(keys_))
      note("activation_checkpointing.cpu_checkpointing",
           "the recipe's own keys say how blocks are checkpointed");
    else
      memory.checkpointing = *parse_policy("offload");
  }

  void note_clipping() {
    if (config_.gradient_clipping.is_auto || config_.gradient_clipping.value ||
        recipe_.train.max_grad_norm == 0)
      return;
    note("gradient_clipping",
         "is not there, which is no clipping to DeepSpeed; here the recipe's max_grad_norm holds");
  }

  void note_without_effect() {
    for (const auto& [path, why] : config_.without_effect) note(path, why);
  }

 private:
  bool given(std::string_view key) const { return is_given(keys_, key); }

  void note(const std::string& path, const std::string& text) {
    recipe_.notes.push_back({"deepspeed, " + path, text});
  }

  [[noreturn]] void refuse(std::string_view sentence) const {
    throw UserError(fmt::format("deepspeed: {}: {}", config_.origin, sentence));
  }

  void set_size(std::string_view own_key, std::string_view name, const Setting<int64_t>& size,
                int64_t& elements, bool belongs_to_stage3) {
    if (size.is_auto && belongs_to_stage3 && config_.zero.stage != 3)
      refuse(
          fmt::format("zero_optimization.{} is auto, which is worked out under stage 3 alone; "
                      "give a number, or leave it out",
                      name));
    if (!given(own_key)) elements = size.value.value_or(kAutoElements);
  }

  void page_optimizer() {
    if (given("optimizer_place")) return;
    recipe_.memory.optimizer_place = StatePlace::paged;
    if (config_.zero.offload_optimizer.device == OffloadDevice::cpu)
      note("zero_optimization.offload_optimizer.device",
           "the optimizer's states go to a page file: a CPU's own memory is the host's");
  }

  void page_weights() {
    const std::string path = "zero_optimization.offload_param";
    if (config_.zero.stage != 3)
      refuse(fmt::format(
          "{} needs stage 3; leave it out, or set weights_place: paged in the recipe", path));
    if (given("weights_place")) return;
    if (recipe_.method.finetuning_type == FinetuningType::full)
      return note(path,
                  "frozen weights are what is paged, and finetuning_type: full has none; stage 3 "
                  "splits trained ones");
    recipe_.memory.weights_place = StatePlace::paged;
    if (config_.zero.offload_param.device == OffloadDevice::cpu)
      note(path + ".device",
           "each rank streams the frozen weights of its blocks, whole, from a page file: a CPU's "
           "own memory is the host's");
  }

  Recipe& recipe_;
  const GivenKeys& keys_;
  const DeepspeedConfig& config_;
};

}  // namespace

void apply_deepspeed(Recipe& recipe, const GivenKeys& keys) {
  if (recipe.deepspeed.source.empty()) return;
  recipe.deepspeed.config =
      parse_deepspeed(read_deepspeed_source(recipe.deepspeed.source, recipe.folder));
  Applied applied(recipe, keys);
  applied.note_without_effect();
  applied.note_clipping();
  applied.set_sharding();
  applied.set_precision();
  applied.set_places();
}

}  // namespace cairn
