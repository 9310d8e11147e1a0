#ifndef MUSTER_AGENT_WORKER_STREAM_COORDINATOR_MAILBOX_H_
#define MUSTER_AGENT_WORKER_STREAM_COORDINATOR_MAILBOX_H_

#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/net/wake_fd.h"
#include "proto/muster/v1alpha1/coordinator.pb.h"

namespace muster::agent {

// Passes messages from gRPC's threads to the agent's thread. Thread-safe.
class CoordinatorMailbox {
 public:
  struct StreamEnded {
    absl::Status why;
  };
  using Identified = absl::StatusOr<v1alpha1::IdentifyResponse>;
  using News = std::variant<v1alpha1::OperatorMessage, StreamEnded, Identified>;

  // Sets the one stream whose messages are accepted; null for none. CallStarted counts every stream
  // and call until it is buried.
  void SetCurrent(const void* stream);
  void CallStarted();

  // Called by gRPC's threads.
  void Put(const void* stream, v1alpha1::OperatorMessage message);
  void End(const void* stream, absl::Status why);
  void Answer(Identified answer);
  // Hands over a finished call, to be destroyed by the agent's thread: destroying a channel on
  // gRPC's own callback thread makes that thread join itself.
  void Bury(std::shared_ptr<void> call);

  // Called by the agent's thread.
  std::deque<News> Take();
  void DestroyFinishedCalls();
  void WaitForCalls(absl::Time deadline);
  // Readable when Take has something to return.
  int fd() const { return wake_.get(); }

 private:
  const WakeFd wake_;
  Mutex mu_;
  CondVar buried_;
  const void* current_ MUSTER_GUARDED_BY(mu_) = nullptr;
  std::deque<News> news_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<void>> dead_ MUSTER_GUARDED_BY(mu_);
  int calls_ MUSTER_GUARDED_BY(mu_) = 0;  // not yet over
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_STREAM_COORDINATOR_MAILBOX_H_
