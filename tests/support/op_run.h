// Runs an op the way a training step does: rehearsed first, on addresses that fault when touched,
// then for real in the arena that the rehearsal was solved into. Memory comes dirty, and canaries
// stand around every operand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "backend/registry.h"
#include "ops/exec.h"
#include "support/host_tensor.h"

namespace cairn::test {

inline constexpr std::byte kCanary{0xA5};  // as an f32 or bf16 a small negative number
inline constexpr int64_t kGuardBytes = kBufferAlignment;

using OpBody = std::function<void(const Exec&, const std::vector<View>& operands)>;

// A device whose slabs hold canaries, so that nothing leans on fresh memory being zero.
class DirtyDevice : public Device {
 public:
  explicit DirtyDevice(Device& device) : device_(device) {}
  std::byte* borrow(int64_t bytes) override {
    std::byte* const slab = device_.borrow(bytes);
    const std::vector<std::byte> dirt(static_cast<size_t>(bytes), kCanary);
    device_.copy_to_device({}, dirt.data(), slab, bytes);
    return slab;
  }
  void give_back(std::byte* slab, int64_t bytes) override { device_.give_back(slab, bytes); }
  void prefault(std::byte* slab, int64_t bytes) override { device_.prefault(slab, bytes); }
  void copy_to_device(Stream stream, const void* host, std::byte* device, int64_t bytes) override {
    device_.copy_to_device(stream, host, device, bytes);
  }
  void copy_to_host(Stream stream, const std::byte* device, void* host, int64_t bytes) override {
    device_.copy_to_host(stream, device, host, bytes);
  }
  void wait(Stream stream) override { device_.wait(stream); }

 private:
  Device& device_;
};

// One pass over the body. Operands travel to the device and back, guards and all.
inline void pass_over_op(Backend& backend, Arena& arena, const std::vector<HostTensor*>& operands,
                         const OpBody& body) {
  const Arena::PhaseScope phase(arena, Phase::step);
  const Exec exec{backend, arena};
  std::vector<Tensor> guarded;
  std::vector<View> views;
  std::vector<std::vector<std::byte>> copies;
  for (const HostTensor* operand : operands) {
    const auto bytes = static_cast<int64_t>(operand->bytes().size());
    guarded.push_back(
        exec.make(Account::activations, "operand", DType::u8, {bytes + 2 * kGuardBytes}));
    copies.emplace_back(static_cast<size_t>(bytes + 2 * kGuardBytes), kCanary);
    std::copy(operand->bytes().begin(), operand->bytes().end(),
              copies.back().begin() + kGuardBytes);
    std::byte* const at = guarded.back().view().data();
    arena.device().copy_to_device({}, copies.back().data(), at, bytes + 2 * kGuardBytes);
    views.emplace_back(at + kGuardBytes, operand->dtype(), operand->shape());
  }
  body(exec, views);
  arena.device().wait({});
  for (size_t i = 0; i < operands.size(); ++i) {
    auto& copy = copies[i];
    arena.device().copy_to_host({}, guarded[i].view().data(), copy.data(),
                                static_cast<int64_t>(copy.size()));
    const auto is_canary = [](std::byte byte) { return byte == kCanary; };
    EXPECT_TRUE(std::all_of(copy.begin(), copy.begin() + kGuardBytes, is_canary) &&
                std::all_of(copy.end() - kGuardBytes, copy.end(), is_canary))
        << "operand " << i << " was written outside its storage";
    std::copy(copy.begin() + kGuardBytes, copy.end() - kGuardBytes, operands[i]->bytes().begin());
  }
}

// Operands hold the results afterwards. Returns what the rehearsal counted.
inline Work run_op(Backend& backend, const std::vector<HostTensor*>& operands, const OpBody& body) {
  const auto rehearsal = open_rehearsal(backend.profile());
  Ledger rehearsed;
  Arena recording(rehearsal->device(), rehearsed);
  std::vector<HostTensor> spare;
  for (const HostTensor* operand : operands) spare.push_back(*operand);
  std::vector<HostTensor*> spares;
  for (HostTensor& operand : spare) spares.push_back(&operand);
  pass_over_op(*rehearsal, recording, spares, body);

  Ledger measured;
  DirtyDevice device(backend.device());
  {
    Arena arena(device, measured, solve_layout(recording.trace()));
    pass_over_op(backend, arena, operands, body);
  }
  EXPECT_EQ(measured.snapshot().peak_bytes(), rehearsed.snapshot().peak_bytes());
  EXPECT_EQ(measured.current(), 0);
  return rehearsal->work();
}

}  // namespace cairn::test
