// GatheredWeights: each rank keeps its share of every weight, and a unit's weights are whole only
// while the unit is at work. The next unit is gathered meanwhile: at most two are whole at a time.
// Weights that stream from a page file are not cut: each rank reads its own copy.
#pragma once

#include <array>
#include <vector>

#include "comm/communicator.h"
#include "model/model.h"

namespace cairn {

class GatheredWeights : public ParameterStore {
 public:
  // units[u]: what a pass reads while unit u is open. `ahead`: the next unit is gathered meanwhile.
  GatheredWeights(const Exec& exec, Communicator& ranks, std::vector<Unit> units, bool ahead);

  // Where weights that stream come from; null: none do.
  void read_beside(ParameterStore* streamed) { streamed_ = streamed; }

  void open(size_t unit) override;
  void close() override;

  // Units that were whole at one time.
  int most_whole() const { return most_whole_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Slot {
    size_t unit = kNone;
    Tensor memory;    // [bytes of the unit's cut weights] u8
    Pending pending;  // ends before the memory goes
  };

  Slot* find(size_t unit);
  // The slot of another unit than `kept`, given back.
  Slot& free_slot(size_t kept);
  void start(Slot& slot, size_t unit);
  void release(Slot& slot);
  void release_all();
  void place(Slot& slot);

  const Exec& exec_;
  Communicator& ranks_;
  std::vector<Unit> units_;
  bool ahead_;
  ParameterStore* streamed_ = nullptr;
  std::array<Slot, 2> slots_;
  size_t latest_ = kNone;  // the unit opened last
  int most_whole_ = 0;
};

}  // namespace cairn
