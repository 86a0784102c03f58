#include "train/optimizers/optimizer.h"

#include <algorithm>

#include "ops/moving.h"

namespace cairn {
namespace {

// Pieces begin where blocks of 8-bit codes and groups of random draws do.
constexpr int64_t kPieceMultiple = 4096;

// Elements of one piece of at most `bytes`.
int64_t elements_within(int64_t bytes, StateShape shape) {
  shape.elements = kPieceMultiple;
  return std::max<int64_t>(1, bytes / std::max<int64_t>(1, shape.bytes())) * kPieceMultiple;
}

// Of what a rank has of a parameter.
View own_stretch(const Optimizer::Piece& piece, View own) {
  return own.view_rows(piece.first - piece.parameter->own_first(), piece.shape.elements);
}

}  // namespace

Optimizer::Optimizer(Model& model, const OptimizerSettings& settings)
    : model_(model), settings_(settings), rule_(make_update_rule(settings)) {}

StateCoding Optimizer::coding() const {
  return settings_.coding.value_or(model_.spec().precision == TrainedPrecision::pure_bf16
                                       ? StateCoding::bf16
                                       : StateCoding::f32);
}

StateShape Optimizer::shape_of(const Parameter& parameter) const {
  StateShape shape;
  shape.elements = parameter.elements();
  shape.moments = rule_->has_moments();
  shape.master = model_.spec().precision == TrainedPrecision::mixed;
  shape.coding = coding();
  if (shape.coding == StateCoding::blocks_8bit &&
      (parameter.embedding || parameter.elements() < kLeast8BitElements))
    shape.coding = StateCoding::f32;
  return shape;
}

void Optimizer::allocate(const Exec& exec) {
  const bool paged = settings_.place == StatePlace::paged;
  std::vector<StateStore::Record> records;
  uint64_t index = 0;
  for (Parameter& parameter : model_.parameters()) {
    if (!parameter.trainable) continue;
    StateShape shape = shape_of(parameter);
    // Every rank has room for as much, whether its share is whole or not.
    const int64_t all = parameter.cut.states ? parameter.cut.share : shape.elements;
    const int64_t most =
        paged ? elements_within(StateStore::piece_bytes(settings_.page_resident), shape) : all;
    for (int64_t first = 0; first < all; first += most) {
      shape.elements = std::min(most, all - first);
      records.push_back({parameter.name, shape.bytes()});
      const int64_t begin = std::min(first, parameter.own_elements());
      shape.elements = std::min(shape.elements, parameter.own_elements() - begin);
      pieces_.push_back({&parameter, index, parameter.own_first() + begin, shape});
    }
    ++index;
  }
  store_.allocate(exec, std::move(records),
                  paged ? std::optional(settings_.page_resident) : std::nullopt);
}

void Optimizer::start(const Exec& exec) {
  if (model_.spec().precision != TrainedPrecision::mixed) return;
  visit(exec, true, [&](const Piece& piece, const StateViews& states) {
    if (piece.shape.elements > 0)
      ops::convert(exec, own_stretch(piece, piece.parameter->view_own_value()), states.master);
  });
}

void Optimizer::update(const Exec& exec, double learning_rate, double gradient_scale) {
  begin_update();
  update_pieces(exec, 0, pieces_.size(), learning_rate, gradient_scale);
}

void Optimizer::update_unit(const Exec& exec, const Unit& unit, double learning_rate,
                            double gradient_scale) {
  const auto is_of_unit = [&](const Piece& piece) {
    return std::find(unit.begin(), unit.end(), piece.parameter) != unit.end();
  };
  const auto first = std::find_if(pieces_.begin(), pieces_.end(), is_of_unit);
  const auto end = std::find_if_not(first, pieces_.end(), is_of_unit);
  update_pieces(exec, static_cast<size_t>(first - pieces_.begin()),
                static_cast<size_t>(end - pieces_.begin()), learning_rate, gradient_scale);
}

void Optimizer::update_pieces(const Exec& exec, size_t first, size_t end, double learning_rate,
                              double gradient_scale) {
  UpdateStep step;
  step.index = updates_;
  step.gradient_scale = gradient_scale;
  step.stochastic_rounding = model_.spec().precision == TrainedPrecision::pure_bf16;
  StateStore::Sweep sweep(exec, store_, true, first, end);
  for (size_t i = first; i < end; ++i) {
    const Piece& piece = pieces_[i];
    Parameter& parameter = *piece.parameter;
    TrainedStretch stretch;
    stretch.gradient = own_stretch(piece, parameter.view_own_gradient());
    stretch.weight = own_stretch(piece, parameter.view_own_value());
    stretch.learning_rate = learning_rate * parameter.learning_rate_scale;
    stretch.weight_decay = parameter.decays ? settings_.weight_decay : 0;
    stretch.stream = static_cast<uint64_t>(updates_) << 32 | piece.index;
    stretch.first = piece.first;
    const StateViews states = piece.shape.view(sweep.open(i));
    if (piece.shape.elements > 0) rule_->update(exec, step, stretch, states);
    sweep.close(i);
  }
  sweep.finish();
}

void Optimizer::visit(const Exec& exec, bool writes,
                      const std::function<void(const Piece&, const StateViews&)>& body) {
  StateStore::Sweep sweep(exec, store_, writes, 0, pieces_.size());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    body(pieces_[i], pieces_[i].shape.view(sweep.open(i)));
    sweep.close(i);
  }
  sweep.finish();
}

void Optimizer::take_visiting_room(const Exec& exec) {
  const StateStore::Sweep sweep(exec, store_, false, 0, pieces_.size());
}

StateSummary Optimizer::summary() const {
  StateSummary summary;
  summary.page_bytes = store_.page_bytes();
  for (const Piece& piece : pieces_) {
    if (!piece.shape.moments) continue;
    if (piece.shape.coding != StateCoding::blocks_8bit) {
      summary.elements_wider += piece.shape.elements;
      continue;
    }
    summary.elements_8bit += piece.shape.elements;
    summary.bytes_8bit += piece.shape.moment_bytes();
  }
  return summary;
}

}  // namespace cairn
