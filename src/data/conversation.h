// Conversation: what a data set's row says, before any template: who spoke, in order, and the
// system text. Turns alternate user, assistant; training wants an even number, a prompt an odd one.
#pragma once

#include <string>
#include <vector>

#include "data/example.h"

namespace cairn {

enum class Role { user, assistant };

struct Turn {
  Role role = Role::user;
  std::string content;

  bool operator==(const Turn&) const = default;
};

struct Conversation {
  std::string system;  // empty: the template's default, if it has one
  std::vector<Turn> turns;
  RowOrigin origin = {};

  bool operator==(const Conversation&) const = default;
};

}  // namespace cairn
