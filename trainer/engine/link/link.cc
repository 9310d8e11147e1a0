#include "trainer/engine/link/link.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/logging.h"
#include "proto/muster/v1alpha1/kind_of.h"

namespace muster::trainer {

void Inbox::Push(v1alpha1::ToTrainer message) {
  MutexLock lock(mu_);
  if (message.has_replica()) {
    replica_ = std::move(*message.mutable_replica());
    return;
  }
  if (message.has_prepare()) {
    ++prepares_;
    interrupt_ = true;
    if (abort_) abort_("a new round is being prepared");
  }
  messages_.push_back(std::move(message));
  changed_.NotifyAll();
}

void Inbox::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  interrupt_ = true;
  if (abort_) abort_("the agent is gone");
  changed_.NotifyAll();
}

std::optional<v1alpha1::ToTrainer> Inbox::TakeLocked() {
  if (messages_.empty()) return std::nullopt;
  v1alpha1::ToTrainer message = std::move(messages_.front());
  messages_.pop_front();
  if (message.has_prepare() && --prepares_ == 0) interrupt_ = closed_;
  return message;
}

std::optional<v1alpha1::ToTrainer> Inbox::TryTake() {
  MutexLock lock(mu_);
  return TakeLocked();
}

std::optional<v1alpha1::ToTrainer> Inbox::Take() {
  MutexLock lock(mu_);
  while (messages_.empty() && !closed_) changed_.Wait(mu_);
  return closed_ ? std::nullopt : TakeLocked();
}

std::optional<v1alpha1::ReplicaReport> Inbox::replica() {
  MutexLock lock(mu_);
  return replica_;
}

void Inbox::ForgetReplica() {
  MutexLock lock(mu_);
  replica_.reset();
}

std::optional<v1alpha1::ToTrainer> Inbox::TakeWithin(absl::Duration timeout) {
  const absl::Time until = Clock::Real().Monotonic() + timeout;
  MutexLock lock(mu_);
  while (messages_.empty() && !closed_) {
    const absl::Duration left = until - Clock::Real().Monotonic();
    if (left <= absl::ZeroDuration()) return std::nullopt;
    changed_.WaitFor(mu_, left);
  }
  return closed_ ? std::nullopt : TakeLocked();
}

void Inbox::SetAbort(Abort abort) {
  MutexLock lock(mu_);
  abort_ = std::move(abort);
  if (abort_ && interrupt_) abort_("a new round is being prepared");
}

void SocketLink::Send(const v1alpha1::FromTrainer& message) {
  MutexLock lock(send_mu_);
  MUSTER_FAILPOINT_OF("trainer.before_send", v1alpha1::KindOf(message));
  if (absl::Status status = SendLinkFrame(fd_, message); !status.ok()) {
    MUSTER_LOG(DEBUG, "could not send to the agent", {"error", status});
  }
  MUSTER_FAILPOINT_OF("trainer.after_send", v1alpha1::KindOf(message));
}

bool SocketLink::RunOnce(Inbox& inbox) {
  char bytes[1 << 16];
  const ssize_t n = read(fd_, bytes, sizeof(bytes));
  if (n < 0 && errno == EINTR) return true;
  bool open = n > 0;
  if (open) decoder_.Append({bytes, static_cast<size_t>(n)});
  while (open) {
    auto frame = decoder_.Next();
    v1alpha1::ToTrainer message;
    if (!frame.ok() || (frame->has_value() && !message.ParseFromString(**frame))) {
      MUSTER_LOG(ERROR, "the link carries bytes that are not ToTrainer messages");
      open = false;
    } else if (!frame->has_value()) {
      return true;
    } else {
      MUSTER_FAILPOINT_OF("trainer.received", v1alpha1::KindOf(message));
      inbox.Push(std::move(message));
    }
  }
  inbox.Close();
  return false;
}

}  // namespace muster::trainer
