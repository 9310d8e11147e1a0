#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTIFY_QUEUE_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTIFY_QUEUE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace muster::control {

// A few threads for what blocks (token reviews), so that gRPC's own threads never do. Bounded:
// after a cold start of thousands of workers the rest is told to come back. Thread-safe.
class IdentifyQueue {
 public:
  static constexpr size_t kMaxWaiting = 4096;
  static constexpr int kThreads = 4;

  IdentifyQueue();
  // Runs what waits, then ends the threads.
  ~IdentifyQueue();

  // False when too many wait.
  bool Add(std::function<void()> task);

 private:
  void Run();

  Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ MUSTER_GUARDED_BY(mu_);
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTIFY_QUEUE_H_
