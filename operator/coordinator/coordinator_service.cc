#include "operator/coordinator/coordinator_service.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace muster::control {
namespace {

using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      std::string(status.message()));
}

// One stream. Owns itself from Start until gRPC says OnDone; the registry may hold it for longer.
class AttachReactor final : public grpc::ServerBidiReactor<AgentMessage, OperatorMessage>,
                            public AgentStream,
                            public std::enable_shared_from_this<AttachReactor> {
 public:
  explicit AttachReactor(AgentRegistry& registry) : registry_(registry) {}

  void Start() {
    self_ = shared_from_this();
    StartRead(&incoming_);
  }

  absl::Status Send(const OperatorMessage& message) override {
    MutexLock lock(mu_);
    if (finish_.has_value()) return absl::UnavailableError("the stream is closing");
    if (queue_.size() >= CoordinatorService::kMaxQueued) {
      const absl::Status slow = absl::ResourceExhaustedError("the agent does not read its orders");
      EndLocked(slow, /*drop_queue=*/true);
      return slow;
    }
    queue_.push_back(message);
    ProceedLocked();
    return absl::OkStatus();
  }

  void Close(const absl::Status& reason) override { End(reason, /*drop_queue=*/false); }

  void OnReadDone(bool ok) override {
    if (!ok) return End(absl::OkStatus(), /*drop_queue=*/true);
    const absl::Status status = Take();
    if (!status.ok()) return End(status, /*drop_queue=*/false);
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mu_);
    writing_ = false;
    queue_.pop_front();
    if (ok) return ProceedLocked();
    EndLocked(absl::UnavailableError("the stream broke"), /*drop_queue=*/true);
  }

  void OnCancel() override {
    End(absl::CancelledError("the stream was cancelled"), /*drop_queue=*/true);
  }

  void OnDone() override {
    if (attachment_ != 0) registry_.Detach(attachment_);
    self_.reset();
  }

 private:
  absl::Status Take() {
    if (attachment_ != 0) {
      registry_.Receive(attachment_, incoming_);
      return absl::OkStatus();
    }
    if (!incoming_.has_hello()) {
      return absl::InvalidArgumentError("the first message of a stream must be AgentHello");
    }
    absl::StatusOr<uint64_t> id = registry_.Attach(incoming_.hello(), shared_from_this());
    if (!id.ok()) return id.status();
    if (*id == 0) return absl::UnavailableError("not the leader");
    attachment_ = *id;
    return absl::OkStatus();
  }

  void End(const absl::Status& status, bool drop_queue) {
    MutexLock lock(mu_);
    EndLocked(status, drop_queue);
  }

  void EndLocked(const absl::Status& status, bool drop_queue) MUSTER_REQUIRES(mu_) {
    if (!finish_.has_value()) finish_ = status;
    // The message that is being written stays at the front until OnWriteDone.
    if (drop_queue) queue_.resize(writing_ ? 1 : 0);
    ProceedLocked();
  }

  void ProceedLocked() MUSTER_REQUIRES(mu_) {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      StartWrite(&queue_.front());
    } else if (finish_.has_value()) {
      finished_ = true;
      Finish(ToGrpc(*finish_));
    }
  }

  AgentRegistry& registry_;
  // Only touched by the read side, which gRPC runs one call at a time, and OnDone after it.
  AgentMessage incoming_;
  uint64_t attachment_ = 0;
  std::shared_ptr<AttachReactor> self_;  // gRPC keeps a raw pointer until OnDone

  Mutex mu_;
  std::deque<OperatorMessage> queue_ MUSTER_GUARDED_BY(mu_);
  bool writing_ MUSTER_GUARDED_BY(mu_) = false;
  bool finished_ MUSTER_GUARDED_BY(mu_) = false;
  std::optional<absl::Status> finish_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace

grpc::ServerBidiReactor<AgentMessage, OperatorMessage>* CoordinatorService::Attach(
    grpc::CallbackServerContext*) {
  auto reactor = std::make_shared<AttachReactor>(registry_);
  reactor->Start();
  return reactor.get();
}

}  // namespace muster::control
