// Conversation: what a data set's row says, before any template: who spoke, in order, the system
// text and the tools. Turns alternate between asking (user, observation) and answering (assistant,
// function); training wants an even number, a prompt an odd one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/example.h"

namespace cairn {

enum class Role : uint8_t {
  user,
  assistant,
  observation,  // what a called function gave
  function      // calls, as JSON: {"name", "arguments"} or a list of such
};

inline bool answers(Role role) { return role == Role::assistant || role == Role::function; }

struct Turn {
  Role role = Role::user;
  std::string content;

  bool operator==(const Turn&) const = default;
};

struct Conversation {
  std::string system = {};  // empty: the template's default, if it has one
  std::vector<Turn> turns = {};
  std::string tools = {};  // a JSON list, as the row writes it; empty: none
  RowOrigin origin = {};

  bool operator==(const Conversation&) const = default;
};

}  // namespace cairn
