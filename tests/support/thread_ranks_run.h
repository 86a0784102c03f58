// Runs a body on every rank of a world of threads, and hands on the first error: that of a rank
// which did not merely lose another.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/registry.h"

namespace cairn::test {

inline void run_on_threads(int size, const std::function<void(Communicator&)>& body,
                           std::chrono::milliseconds timeout = std::chrono::minutes(2)) {
  auto ranks = open_thread_ranks(size, timeout);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        // Its end tells the others that this rank is gone.
        const auto communicator = std::move(ranks[static_cast<size_t>(rank)]);
        body(*communicator);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::exception_ptr lost;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const CommError&) {
      if (!lost) lost = error;
    }
  }
  if (lost) std::rethrow_exception(lost);
}

}  // namespace cairn::test
