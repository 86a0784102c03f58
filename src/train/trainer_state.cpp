#include "train/trainer_state.h"

#include "base/error.h"
#include "files/json_file.h"

namespace cairn {

void write_trainer_state(const std::string& folder, const TrainerState& state) {
  nlohmann::json json = {
      {"global_step", state.step},
      {"max_steps", state.total_steps},
      {"epoch", state.epoch},
      {"seconds", state.seconds},
      {"optimizer_updates", state.counts.updates},
      {"moved", state.counts.moved},
      {"trained_tokens", state.trained_tokens},
      {"first_losses", state.first_losses},
      {"last_losses", state.last_losses},
      {"fixed", state.identity.fixed},
      {"changeable", state.identity.changeable},
      {"planned", state.identity.planned},
  };
  if (state.eval_loss) json["eval_loss"] = *state.eval_loss;
  write_json(folder + "/" + kTrainerState, json);
}

TrainerState read_trainer_state(const std::string& folder) {
  const std::string path = folder + "/" + kTrainerState;
  const nlohmann::json json = read_json_object(path);
  TrainerState state;
  try {
    state.step = integer_of(json.at("global_step"));
    state.total_steps = integer_of(json.at("max_steps"));
    json.at("epoch").get_to(state.epoch);
    json.at("seconds").get_to(state.seconds);
    state.counts.updates = integer_of(json.at("optimizer_updates"));
    json.at("moved").get_to(state.counts.moved);
    state.trained_tokens = integer_of(json.at("trained_tokens"));
    json.at("first_losses").get_to(state.first_losses);
    json.at("last_losses").get_to(state.last_losses);
    json.at("fixed").get_to(state.identity.fixed);
    json.at("changeable").get_to(state.identity.changeable);
    state.identity.planned = json.value("planned", RunIdentity::Values());
    if (const auto loss = json.find("eval_loss"); loss != json.end() && loss->is_number())
      state.eval_loss = loss->get<double>();
  } catch (const nlohmann::json::exception& error) {
    throw DamagedFile(fmt::format("{} is not what a run writes: {}", path, error.what()));
  }
  return state;
}

}  // namespace cairn
