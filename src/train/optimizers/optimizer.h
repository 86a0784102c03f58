// Optimizer: updates the trained parameters of a model. It owns the optimizer account: the moments
// of each parameter, and a master copy in the mixed mode. Rule, coding and place of the states come
// together here and know nothing of each other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "train/optimizers/state_store.h"
#include "train/optimizers/update_rule.h"

namespace cairn {

// What the states take; moments only, masters aside.
struct StateSummary {
  int64_t elements_8bit = 0, bytes_8bit = 0;  // of parameters whose moments are in 8-bit blocks
  int64_t elements_wider = 0;                 // of the others
  int64_t page_bytes = 0;                     // in the page store, masters included

  double bytes_per_8bit_parameter() const {
    return elements_8bit == 0
               ? 0
               : static_cast<double>(bytes_8bit) / static_cast<double>(elements_8bit);
  }
};

class Optimizer {
 public:
  // A stretch of a parameter whose states are one record: all of it where states stay in memory
  // and ranks do not share them. A rank has pieces of its share alone; the share that a parameter's
  // end cuts off may be empty.
  struct Piece {
    Parameter* parameter = nullptr;
    uint64_t index = 0;  // of the parameter among the trained ones
    int64_t first = 0;   // element that it begins at
    StateShape shape;
  };

  Optimizer(Model& model, const OptimizerSettings& settings);

  // Takes the states' memory, zero; call after Model::allocate.
  void allocate(const Exec& exec);
  // Room that it needs in a page store, and where that is; call before start.
  int64_t page_bytes() const { return store_.page_bytes(); }
  void use_pages(Ledger& ledger, PageStore* pages, int64_t offset) {
    store_.use_pages(ledger, pages, offset);
  }
  // Copies the loaded weights into the masters; call once weights are there.
  void start(const Exec& exec);
  // One update from the gradients, each times `gradient_scale`.
  void update(const Exec& exec, double learning_rate, double gradient_scale);
  // The same in parts: begin_update, then every trained parameter once, unit by unit. The
  // parameters of a unit follow one another in the model's list.
  void begin_update() { ++updates_; }
  void update_unit(const Exec& exec, const Unit& unit, double learning_rate, double gradient_scale);

  // Calls `body` with the states of every piece; `writes` if it changes them.
  void visit(const Exec& exec, bool writes,
             const std::function<void(const Piece&, const StateViews&)>& body);
  // Takes the memory that a visit takes, for nothing.
  void take_visiting_room(const Exec& exec);
  const std::vector<Piece>& pieces() const { return pieces_; }
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }
  // Of the moments, but for small tensors and embeddings of 8-bit states.
  StateCoding coding() const;
  StateSummary summary() const;

 private:
  StateShape shape_of(const Parameter& parameter) const;
  void update_pieces(const Exec& exec, size_t first, size_t end, double learning_rate,
                     double gradient_scale);

  Model& model_;
  OptimizerSettings settings_;
  std::unique_ptr<UpdateRule> rule_;
  std::vector<Piece> pieces_;
  StateStore store_;
  int64_t updates_ = 0;
};

}  // namespace cairn
