#ifndef MUSTER_AGENT_WORKER_STREAM_COORDINATOR_STREAM_H_
#define MUSTER_AGENT_WORKER_STREAM_COORDINATOR_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/worker/stream/coordinator_mailbox.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::agent {

// One Attach call. gRPC calls the On... methods on its threads; everything else is thread-safe. It
// owns itself from Start until gRPC is done with it, and is then buried in the mailbox.
class CoordinatorStream final
    : public grpc::ClientBidiReactor<v1alpha1::AgentMessage, v1alpha1::OperatorMessage> {
 public:
  // The stream is cancelled when more messages than this wait for the operator to read.
  static constexpr size_t kMaxOutgoing = 4096;

  CoordinatorStream(std::shared_ptr<CoordinatorMailbox> mailbox,
                    std::shared_ptr<grpc::Channel> channel, const std::string& address);

  void Start(std::shared_ptr<CoordinatorStream> self);
  void Send(const v1alpha1::AgentMessage& message);
  void Cancel() { context_.TryCancel(); }
  // Half-closes the stream and waits for the operator to hang up, because a call that is merely
  // cancelled may lose the last writes.
  void HangUp(absl::Time deadline);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& address() const { return address_; }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void WriteNext() MUSTER_REQUIRES(mu_);

  const std::shared_ptr<CoordinatorMailbox> mailbox_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
  const std::string address_;
  grpc::ClientContext context_;
  std::shared_ptr<CoordinatorStream> self_;
  v1alpha1::OperatorMessage incoming_;
  Mutex mu_;
  CondVar ended_;
  std::deque<v1alpha1::AgentMessage> outgoing_ MUSTER_GUARDED_BY(mu_);
  v1alpha1::AgentMessage written_message_ MUSTER_GUARDED_BY(mu_);
  bool writing_ MUSTER_GUARDED_BY(mu_) = false;
  bool hanging_up_ MUSTER_GUARDED_BY(mu_) = false;
  bool hung_up_ MUSTER_GUARDED_BY(mu_) = false;
  bool closed_ MUSTER_GUARDED_BY(mu_) = false;  // no operation may be started any more
  bool done_ MUSTER_GUARDED_BY(mu_) = false;
};

// Requests a certificate over `channel`; the answer goes to the mailbox. Fails after `timeout`.
// Returns the context, by which the call can be cancelled.
std::shared_ptr<grpc::ClientContext> StartIdentify(std::shared_ptr<CoordinatorMailbox> mailbox,
                                                   std::shared_ptr<grpc::Channel> channel,
                                                   v1alpha1::IdentifyRequest request,
                                                   absl::Duration timeout);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_STREAM_COORDINATOR_STREAM_H_
