#include "plan_output.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "report/accounts.h"

namespace cairn::program {
namespace {

nlohmann::ordered_json plan_json(const Plan& plan) {
  nlohmann::ordered_json json = {{"fits", plan.fits()}, {"budget_bytes", plan.budget_bytes}};
  json.update(cairn::to_json(plan.rehearsal.snapshot));
  json["arena_bytes"] = plan.rehearsal.arena_bytes();
  json["fragmentation_bytes"] = plan.rehearsal.fragmentation_bytes();
  json["runtime_bytes"] = plan.runtime_bytes;
  json["step_seconds"] = plan.rehearsal.step_seconds;
  json["tokens_per_second"] = plan.tokens_per_second();
  json["world_size"] = plan.spec.world.size;
  json["sent_bytes_per_step"] = static_cast<int64_t>(plan.rehearsal.step_work.link_bytes);
  json["recipe"] = nlohmann::ordered_json::parse(cairn::to_json(plan.recipe));
  json["why"] = plan.why;
  json["candidates"] = nlohmann::ordered_json::array();
  return json;
}

std::string shape_of(const Plan& plan) {
  const ModelConfig& config = plan.spec.model.config;
  std::string text = fmt::format(
      "{:.2f} billion parameters, {} layers, hidden {}; {}",
      static_cast<double>(config.num_parameters()) / 1e9, config.num_layers, config.hidden,
      plan.spec.model.lora ? fmt::format("LoRA of rank {}", plan.spec.model.lora->rank)
                           : std::string("every weight is trained"));
  return text + fmt::format("; at most {} tokens in {} samples a batch\n",
                            plan.spec.capacity.tokens, plan.spec.capacity.segments);
}

}  // namespace

nlohmann::ordered_json to_json(const Plan& plan, const std::optional<Remedy>& remedy,
                               const std::optional<LargerBatches>& larger) {
  nlohmann::ordered_json json = plan_json(plan);
  if (remedy) {
    nlohmann::ordered_json candidate = plan_json(remedy->plan);
    candidate["keys"] = remedy->keys;
    candidate["cost"] = remedy->cost;
    json["candidates"].push_back(std::move(candidate));
  }
  if (larger) {
    nlohmann::ordered_json candidate = plan_json(larger->plan);
    candidate["keys"] = larger->keys;
    candidate["cost"] = "memory that is free";
    json["candidates"].push_back(std::move(candidate));
  }
  return json;
}

std::string to_text(const Plan& plan, const std::optional<Remedy>& remedy,
                    const std::optional<LargerBatches>& larger) {
  AccountsBeside beside;
  beside.arena_bytes = plan.rehearsal.arena_bytes();
  beside.runtime_bytes = plan.runtime_bytes;
  beside.budget_bytes = plan.budget_bytes;
  std::string text = shape_of(plan) + "\n" + accounts_report(plan.rehearsal.snapshot, beside);
  for (const std::string& reason : plan.why) text += fmt::format("- {}\n", reason);
  text += fmt::format("- about {:.1f} s a step on '{}': {:.0f} tokens a second\n",
                      plan.rehearsal.step_seconds, "cpu", plan.tokens_per_second());
  if (larger)
    text += fmt::format(
        "\nThe same step in fewer passes over weights fits, rehearsed: {}\n  (it sends, reads and "
        "writes {} in place of {}; about {:.1f} s a step; needs {})\n",
        larger->keys, format_bytes(static_cast<int64_t>(moved_bytes(larger->plan))),
        format_bytes(static_cast<int64_t>(moved_bytes(plan))), larger->plan.rehearsal.step_seconds,
        format_bytes(larger->plan.needed_bytes()));
  if (remedy)
    text += fmt::format("\nThe cheapest change that fits, rehearsed: {}\n  ({}; needs {})\n",
                        remedy->keys, remedy->cost, format_bytes(remedy->plan.needed_bytes()));
  else if (!plan.fits())
    text += "\nNo change that this version knows makes it fit: a smaller model, or more memory.\n";
  return text;
}

}  // namespace cairn::program
