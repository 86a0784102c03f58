// The segments of a call and the tasks cut from them: each thread claims the next task, in an order
// that the number of threads does not change.
#pragma once

#include <omp.h>

#include <atomic>

#include "backend/kernels.h"

namespace cairn::cpu {

// One segment: rows of q and of k.
struct Segment {
  int64_t query_row, queries, key_row, keys;
};

// Finds the segment of a task in a walk that only goes forward. Tasks of a segment are numbered in
// a row, `tasks_of(segment)` of them.
template <typename TasksOf>
class SegmentWalk {
 public:
  SegmentWalk(const Attention& attention, const TasksOf& tasks_of)
      : cu_queries_(attention.cu_queries.as<int32_t>()),
        cu_keys_(attention.cu_keys.as<int32_t>()),
        segments_(attention.cu_queries.shape()[0] - 1),
        tasks_of_(tasks_of) {}

  // Sets `segment` and the task's number within it; false when there is no such task.
  bool find(int64_t task, Segment& segment, int64_t& within) {
    for (; at_ < segments_; ++at_) {
      segment = {cu_queries_[at_], cu_queries_[at_ + 1] - cu_queries_[at_], cu_keys_[at_],
                 cu_keys_[at_ + 1] - cu_keys_[at_]};
      const int64_t tasks = tasks_of_(segment);
      if (task < first_ + tasks) {
        within = task - first_;
        return true;
      }
      first_ += tasks;
    }
    return false;
  }

 private:
  const int32_t* cu_queries_;
  const int32_t* cu_keys_;
  int64_t segments_, at_ = 0, first_ = 0;
  const TasksOf& tasks_of_;
};

// Calls body(task, segment, within, thread) for every task, in order of claiming.
template <typename TasksOf, typename Body>
void for_each_task(const Attention& attention, int threads, const TasksOf& tasks_of,
                   const Body& body) {
  std::atomic<int64_t> next = 0;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    SegmentWalk<TasksOf> walk(attention, tasks_of);
    Segment segment{};
    int64_t within = 0;
    for (int64_t task = next++; walk.find(task, segment, within); task = next++)
      body(task, segment, within, omp_get_thread_num());
  }
}

}  // namespace cairn::cpu
