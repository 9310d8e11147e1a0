#include "agent/worker/stream/coordinator_stream.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "base/failpoint.h"
#include "base/logging.h"
#include "base/rpc/grpc_status.h"
#include "proto/muster/v1alpha1/kind_of.h"

namespace muster::agent {
CoordinatorStream::CoordinatorStream(std::shared_ptr<CoordinatorMailbox> mailbox,
                                     std::shared_ptr<grpc::Channel> channel,
                                     const std::string& address)
    : mailbox_(std::move(mailbox)),
      channel_(std::move(channel)),
      stub_(v1alpha1::Coordinator::NewStub(channel_)),
      address_(address) {}

void CoordinatorStream::Start(std::shared_ptr<CoordinatorStream> self) {
  self_ = std::move(self);
  mailbox_->CallStarted();
  stub_->async()->Attach(&context_, this);
  // Writes are started outside gRPC's callbacks; the hold keeps the call alive under them.
  AddHold();
  StartRead(&incoming_);
  StartCall();
}

void CoordinatorStream::Send(const v1alpha1::AgentMessage& message) {
  MutexLock lock(mu_);
  if (closed_) return;
  MUSTER_FAILPOINT_OF("agent.before_send", v1alpha1::KindOf(message));
  outgoing_.push_back(message);
  if (outgoing_.size() > kMaxOutgoing) return context_.TryCancel();
  WriteNext();
}

void CoordinatorStream::HangUp(absl::Time deadline) {
  MutexLock lock(mu_);
  hanging_up_ = true;
  WriteNext();
  while (!done_) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration() || !ended_.WaitFor(mu_, left)) return;
  }
}

void CoordinatorStream::OnReadDone(bool ok) {
  if (!ok) {
    {
      MutexLock lock(mu_);
      closed_ = true;
    }
    return RemoveHold();  // OnDone follows, perhaps during this call
  }
  MUSTER_FAILPOINT_OF("agent.received", v1alpha1::KindOf(incoming_));
  mailbox_->Put(this, std::move(incoming_));
  incoming_.Clear();
  StartRead(&incoming_);
}

void CoordinatorStream::OnWriteDone(bool ok) {
  MutexLock lock(mu_);
  writing_ = false;
  if (!ok) outgoing_.clear();
  if (ok) MUSTER_FAILPOINT_OF("agent.after_send", v1alpha1::KindOf(written_message_));
  WriteNext();
}

void CoordinatorStream::OnDone(const grpc::Status& status) {
  MUSTER_LOG(DEBUG, "stream ended", {"address", address_}, {"error", status.error_message()});
  {
    MutexLock lock(mu_);
    done_ = true;
    ended_.NotifyAll();
  }
  const std::shared_ptr<CoordinatorMailbox> mailbox = mailbox_;
  mailbox->End(this, ToAbsl(status));
  mailbox->Bury(std::move(self_));  // the agent's thread may destroy this at once
}

void CoordinatorStream::WriteNext() {
  if (writing_ || closed_) return;
  if (outgoing_.empty()) {
    if (hanging_up_ && !std::exchange(hung_up_, true)) StartWritesDone();
    return;
  }
  writing_ = true;
  written_message_ = std::move(outgoing_.front());
  outgoing_.pop_front();
  StartWrite(&written_message_);
}

std::shared_ptr<grpc::ClientContext> StartIdentify(std::shared_ptr<CoordinatorMailbox> mailbox,
                                                   std::shared_ptr<grpc::Channel> channel,
                                                   v1alpha1::IdentifyRequest request,
                                                   absl::Duration timeout) {
  struct Call {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<v1alpha1::Coordinator::Stub> stub;
    v1alpha1::IdentifyRequest request;
    v1alpha1::IdentifyResponse response;
    grpc::ClientContext context;
  };
  auto call = std::make_shared<Call>();
  call->stub = v1alpha1::Coordinator::NewStub(channel);
  call->channel = std::move(channel);
  call->request = std::move(request);
  call->context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  mailbox->CallStarted();
  Call* raw = call.get();
  raw->stub->async()->Identify(
      &raw->context, &raw->request, &raw->response,
      [mailbox = std::move(mailbox), call](grpc::Status status) mutable {
        mailbox->Answer(status.ok() ? CoordinatorMailbox::Identified(std::move(call->response))
                                    : ToAbsl(status));
        mailbox->Bury(std::move(call));
      });
  return {call, &raw->context};
}

}  // namespace muster::agent
