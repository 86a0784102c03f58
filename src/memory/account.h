// The five accounts of the ledger, and the places memory can be in. "runtime", the process itself,
// is measured beside them and never mixed in.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cairn {

enum class Account : uint8_t { weights, gradients, optimizer, activations, workspace };
inline constexpr int kNumAccounts = 5;
inline constexpr std::array<Account, kNumAccounts> kAccounts = {
    Account::weights, Account::gradients, Account::optimizer, Account::activations,
    Account::workspace};
constexpr std::string_view name_of(Account account) {
  constexpr std::array<std::string_view, kNumAccounts> names = {"weights", "gradients", "optimizer",
                                                                "activations", "workspace"};
  return names[static_cast<size_t>(account)];
}

enum class Place : uint8_t { device, host, page };
inline constexpr int kNumPlaces = 3;
constexpr std::string_view name_of(Place place) {
  constexpr std::array<std::string_view, kNumPlaces> names = {"device", "host", "page"};
  return names[static_cast<size_t>(place)];
}

// What the program is doing; the arena is as large as the largest phase needs.
// `checkpoint` and `resume` move the states of a run to and from a folder.
enum class Phase : uint8_t {
  load,
  step,
  norm,
  update,
  evaluate,
  save,
  checkpoint,
  resume,
  generate
};
inline constexpr int kNumPhases = 9;
constexpr std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, kNumPhases> names = {
      "load", "step", "norm", "update", "evaluate", "save", "checkpoint", "resume", "generate"};
  return names[static_cast<size_t>(phase)];
}

}  // namespace cairn
