#ifndef MUSTER_AGENT_WORKER_COORDINATOR_MAILBOX_H_
#define MUSTER_AGENT_WORKER_COORDINATOR_MAILBOX_H_

#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/coordinator.pb.h"

namespace muster::agent {

// What gRPC's threads hand over to the agent's. Thread-safe.
class CoordinatorMailbox {
 public:
  struct StreamEnded {
    absl::Status why;
  };
  using Identified = absl::StatusOr<v1alpha1::IdentifyResponse>;
  using News = std::variant<v1alpha1::OperatorMessage, StreamEnded, Identified>;

  CoordinatorMailbox();
  ~CoordinatorMailbox();

  // The one stream whose words are taken; null for none. Every stream and call that starts is
  // counted by CallStarted until it is buried.
  void SetCurrent(const void* stream);
  void CallStarted();

  // From gRPC's threads.
  void Put(const void* stream, v1alpha1::OperatorMessage message);
  void End(const void* stream, absl::Status why);
  void Answer(Identified answer);
  // A call that is over, to be destroyed by our thread: destroying a channel on gRPC's own callback
  // thread makes that thread join itself.
  void Bury(std::shared_ptr<void> call);

  // From our thread.
  std::deque<News> Take();
  void DestroyDead();
  void WaitForCalls(absl::Time deadline);
  // Readable when Take has something to return.
  int fd() const { return event_fd_; }

 private:
  void Wake();

  const int event_fd_;
  Mutex mu_;
  CondVar buried_;
  const void* current_ MUSTER_GUARDED_BY(mu_) = nullptr;
  std::deque<News> news_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<void>> dead_ MUSTER_GUARDED_BY(mu_);
  int calls_ MUSTER_GUARDED_BY(mu_) = 0;  // not yet over
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_COORDINATOR_MAILBOX_H_
