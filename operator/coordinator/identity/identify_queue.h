#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_IDENTIFY_QUEUE_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_IDENTIFY_QUEUE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace muster::control {

// A few threads for blocking work (token reviews), so that gRPC's own threads never block. Bounded:
// after a cold start of thousands of workers, those in excess are told to retry. Thread-safe.
class IdentifyQueue {
 public:
  static constexpr size_t kMaxWaiting = 4096;
  static constexpr size_t kMaxWaitingOfPeer = 1024;
  static constexpr int kThreads = 4;

  IdentifyQueue();
  // Runs the waiting tasks, then ends the threads.
  ~IdentifyQueue();

  // Returns false if too many tasks wait, in all or of `peer`.
  bool Add(const std::string& peer, std::function<void()> task);

 private:
  struct Waiting {
    std::string peer;
    std::function<void()> task;
  };

  void Run();

  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> tasks_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, size_t> of_peer_ MUSTER_GUARDED_BY(mu_);  // the number of tasks_ by peer
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_IDENTIFY_QUEUE_H_
