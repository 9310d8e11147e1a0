#include "operator/coordinator/coordinator_service.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/failpoint.h"
#include "base/mutex.h"
#include "base/rpc/grpc_status.h"
#include "base/rpc/peer_certificate.h"
#include "base/status_macros.h"
#include "operator/coordinator/identity/peer_auth.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/coordinator/identity/validity_table.h"
#include "proto/muster/v1alpha1/kind_of.h"

namespace muster::control {
namespace {

using v1alpha1::AgentMessage;

[[maybe_unused]] std::string KindOfOrder(const std::string& bytes) {
  v1alpha1::OperatorMessage order;
  return order.ParseFromString(bytes) ? v1alpha1::KindOf(order) : "none";
}

// Shares the message's bytes, which live until gRPC has written them.
grpc::ByteBuffer ToBuffer(EncodedMessage message) {
  const std::string& bytes = *message;
  auto* held = new EncodedMessage(std::move(message));
  const grpc::Slice slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* held) { delete static_cast<EncodedMessage*>(held); }, held);
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<AgentMessage> Decode(grpc::ByteBuffer& bytes) {
  AgentMessage message;
  if (!grpc::SerializationTraits<AgentMessage>::Deserialize(&bytes, &message).ok()) {
    return absl::InvalidArgumentError("the message cannot be read");
  }
  return message;
}

// One stream. Owns itself from Start() until gRPC calls OnDone(); the registry may hold it for
// longer.
class AttachReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                            public AgentStream,
                            public std::enable_shared_from_this<AttachReactor> {
 public:
  AttachReactor(AgentRegistry& registry, CoordinatorIdentity* identity, NodeBoard* nodes,
                grpc::CallbackServerContext& context)
      : registry_(registry),
        identity_(identity),
        nodes_(nodes),
        peer_host_(HostOf(context.peer())) {
    if (!IsEncrypted(*context.auth_context())) return;
    certified_ = ReadPeer(*context.auth_context());
  }

  void Start() {
    self_ = shared_from_this();
    if (certified_.has_value() && !certified_->ok()) return Refuse(certified_->status());
    StartRead(&incoming_);
  }

  absl::Status Send(EncodedMessage message) override {
    MutexLock lock(mu_);
    if (finish_.has_value()) return absl::UnavailableError("the stream is closing");
    if (queue_.size() >= CoordinatorService::kMaxQueued) {
      const absl::Status slow = absl::ResourceExhaustedError("the agent does not read its orders");
      EndLocked(slow, /*drop_queue=*/true);
      return slow;
    }
    MUSTER_FAILPOINT_OF("operator.before_send", KindOfOrder(*message));
    queue_.push_back(std::move(message));
    ProceedLocked();
    return absl::OkStatus();
  }

  void Close(const absl::Status& reason) override { End(reason, /*drop_queue=*/false); }

  void OnReadDone(bool ok) override {
    if (!ok) return End(absl::OkStatus(), /*drop_queue=*/true);
    const absl::Status status = Take();
    if (!status.ok()) return Refuse(status);
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mu_);
    writing_ = false;
    outgoing_.Clear();
    const EncodedMessage written = std::move(written_);
    if (ok) MUSTER_FAILPOINT_OF("operator.after_send", KindOfOrder(*written));
    if (ok) return ProceedLocked();
    EndLocked(absl::UnavailableError("the stream broke"), /*drop_queue=*/true);
  }

  void OnCancel() override {
    End(absl::CancelledError("the stream was cancelled"), /*drop_queue=*/true);
  }

  void OnDone() override {
    if (attachment_ != 0 && is_node_) nodes_->Detach(attachment_);
    if (attachment_ != 0 && !is_node_) registry_.Detach(attachment_);
    self_.reset();
  }

 private:
  absl::Status Take() {
    MUSTER_ASSIGN_OR_RETURN(AgentMessage message, Decode(incoming_));
    MUSTER_FAILPOINT_OF("operator.received", v1alpha1::KindOf(message));
    if (attachment_ != 0) {
      MUSTER_RETURN_IF_ERROR(CheckValidity());
      return is_node_ ? nodes_->Receive(attachment_, std::move(message))
                      : registry_.Receive(attachment_, std::move(message));
    }
    MUSTER_ASSIGN_OR_RETURN(attachment_, Admit(message));
    return attachment_ != 0 ? absl::OkStatus() : absl::UnavailableError("not the leader");
  }

  // Returns the attachment of the stream that `message` opens; 0 on a standby.
  absl::StatusOr<uint64_t> Admit(const AgentMessage& message) {
    if (message.has_node_hello()) {
      if (nodes_ == nullptr) {
        return absl::UnimplementedError("this operator takes no reports about nodes");
      }
      MUSTER_RETURN_IF_ERROR(CheckPeer(message.node_hello()));
      is_node_ = true;
      return nodes_->Attach(message.node_hello(), shared_from_this());
    }
    if (!message.has_hello()) {
      return absl::InvalidArgumentError(
          "the first message of a stream must be AgentHello or NodeHello");
    }
    MUSTER_RETURN_IF_ERROR(CheckPeer(message.hello().worker()));
    return registry_.Attach(message.hello(), shared_from_this());
  }

  // Returns OK if the peer may act for the worker or node that it claims to be; from then on the
  // expiry of its certificate is watched.
  template <typename Claim>
  absl::Status CheckPeer(const Claim& claim) {
    if (!certified_.has_value()) return absl::OkStatus();
    const CertifiedPeer& peer = **certified_;
    MUSTER_RETURN_IF_ERROR(CheckClaim(peer, claim));
    const Clock& clock = identity_->clock();
    validity_ =
        identity_->validity().Hold(peer.uri, clock.Monotonic() + (peer.not_after - clock.Wall()));
    return CheckValidity();
  }
  absl::Status CheckValidity() const {
    if (validity_ == nullptr || validity_->ValidAt(identity_->clock().Monotonic())) {
      return absl::OkStatus();
    }
    return Refused(Refusal::kCertificateExpired, absl::StatusCode::kUnauthenticated,
                   "the client certificate has expired and was not renewed in time");
  }

  void Refuse(const absl::Status& status) {
    if (identity_ != nullptr) identity_->refusals().Note(status, peer_host_);
    End(status, /*drop_queue=*/false);
  }

  void End(const absl::Status& status, bool drop_queue) {
    MutexLock lock(mu_);
    EndLocked(status, drop_queue);
  }

  void EndLocked(const absl::Status& status, bool drop_queue) MUSTER_REQUIRES(mu_) {
    if (!finish_.has_value()) finish_ = status;
    if (drop_queue) queue_.clear();
    ProceedLocked();
  }

  void ProceedLocked() MUSTER_REQUIRES(mu_) {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      written_ = queue_.front();
      outgoing_ = ToBuffer(written_);
      queue_.erase(queue_.begin());
      StartWrite(&outgoing_);
    } else if (finish_.has_value()) {
      finished_ = true;
      Finish(ToGrpc(*finish_));
    }
  }

  AgentRegistry& registry_;
  CoordinatorIdentity* const identity_;  // not null on an encrypted connection
  NodeBoard* const nodes_;               // not null for a node agent's stream
  const std::string peer_host_;
  // Absent on a unix socket, whose peers are trusted.
  std::optional<absl::StatusOr<CertifiedPeer>> certified_;
  // Only touched by the read side, which gRPC runs one call at a time, and by OnDone() after it.
  grpc::ByteBuffer incoming_;
  uint64_t attachment_ = 0;
  bool is_node_ = false;  // `attachment_` is the board's, not the registry's
  std::shared_ptr<const ValidityTable::Entry> validity_;
  std::shared_ptr<AttachReactor> self_;  // gRPC keeps a raw pointer until OnDone

  Mutex mu_;
  std::vector<EncodedMessage> queue_
      MUSTER_GUARDED_BY(mu_);                      // a vector, because an empty one holds no memory
  grpc::ByteBuffer outgoing_;                      // being written while writing_
  EncodedMessage written_ MUSTER_GUARDED_BY(mu_);  // what outgoing_ shares
  bool writing_ MUSTER_GUARDED_BY(mu_) = false;
  bool finished_ MUSTER_GUARDED_BY(mu_) = false;
  std::optional<absl::Status> finish_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace

CoordinatorService::CoordinatorService(AgentRegistry& registry, CoordinatorIdentity* identity,
                                       NodeBoard* nodes)
    : registry_(registry), identity_(identity), nodes_(nodes) {
  if (identity != nullptr) identify_ = std::make_unique<IdentifyQueue>();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CoordinatorService::Attach(
    grpc::CallbackServerContext* context) {
  auto reactor = std::make_shared<AttachReactor>(registry_, identity_, nodes_, *context);
  reactor->Start();
  return reactor.get();
}

grpc::ServerUnaryReactor* CoordinatorService::Identify(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (identify_ == nullptr || !IsEncrypted(*context->auth_context())) {
    reactor->Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                                 "agents on this machine need no certificate"));
    return reactor;
  }
  const std::string peer = HostOf(context->peer());
  const absl::Status admitted = identity_->Admit(request->Length(), kMaxIdentifyBytes, peer);
  if (!admitted.ok()) {
    reactor->Finish(ToGrpc(admitted));
    return reactor;
  }
  // Request, response and context live until Finish.
  const bool added = identify_->Add(peer, [this, context, request, response, reactor, peer] {
    if (context->IsCancelled()) return reactor->Finish(grpc::Status::CANCELLED);
    grpc::ByteBuffer bytes = *request;  // shares the bytes
    v1alpha1::IdentifyRequest asked;
    if (!grpc::SerializationTraits<v1alpha1::IdentifyRequest>::Deserialize(&bytes, &asked).ok()) {
      return reactor->Finish(
          grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the message cannot be read"));
    }
    absl::StatusOr<v1alpha1::IdentifyResponse> answer = identity_->Identify(asked, peer);
    if (!answer.ok()) return reactor->Finish(ToGrpc(answer.status()));
    bool own = false;
    reactor->Finish(
        grpc::SerializationTraits<v1alpha1::IdentifyResponse>::Serialize(*answer, response, &own));
  });
  if (!added) {
    reactor->Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                 "too many certificate requests are waiting: try again later"));
  }
  return reactor;
}

}  // namespace muster::control
