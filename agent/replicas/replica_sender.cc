#include "agent/replicas/replica_sender.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "agent/replicas/copy_parts.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/logging.h"
#include "base/rpc/grpc_status.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/replica.grpc.pb.h"

namespace muster::agent {
namespace {

// After a stream that failed, the next one begins no earlier than this.
constexpr absl::Duration kRetry = absl::Seconds(1);

v1alpha1::Version VersionOf(const CheckpointListing& listing) {
  v1alpha1::Version version;
  version.set_step(listing.step);
  version.set_attempt(listing.attempt);
  return version;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReplicaSender>> ReplicaSender::Start(Options options, Files& files,
                                                                    const Clock& clock, Dial dial,
                                                                    Tell tell) {
  MUSTER_ASSIGN_OR_RETURN(CopiesWatch watch,
                          CopiesWatch::Make(files, options.folder, options.ranks));
  std::unique_ptr<ReplicaSender> sender(new ReplicaSender(
      std::move(options), std::move(watch), files, clock, std::move(dial), std::move(tell)));
  if (sender->wake_.get() < 0) return absl::ErrnoToStatus(errno, "eventfd");
  sender->thread_ = std::thread([raw = sender.get()] { raw->Run(); });
  return sender;
}

ReplicaSender::ReplicaSender(Options options, CopiesWatch watch, Files& files, const Clock& clock,
                             Dial dial, Tell tell)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      dial_(std::move(dial)),
      tell_(std::move(tell)),
      watch_(std::move(watch)),
      pace_(options_.ranks) {}

ReplicaSender::~ReplicaSender() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  wake_.Wake();
  thread_.join();
}

void ReplicaSender::SetPeer(std::optional<v1alpha1::ReplicaPeer> peer) {
  {
    MutexLock lock(mu_);
    const bool same = peer.has_value() == next_peer_.has_value() &&
                      (!peer || (peer->worker() == next_peer_->worker() &&
                                 peer->endpoint() == next_peer_->endpoint()));
    look_again_ = true;
    if (same) {
      TellAll();
    } else {
      standing_.BeginPeer(peer.has_value());
      TellAll();
      next_peer_ = std::move(peer);
      peer_changed_ = true;
      if (context_ != nullptr) context_->TryCancel();
    }
  }
  wake_.Wake();
}

void ReplicaSender::Run() {
  while (true) {
    // A wake-up may have ended a stream instead, or come while one was open.
    if (!HasOrders()) Wait(pending_.empty() || !peer_ ? absl::InfiniteFuture() : retry_at_);
    {
      MutexLock lock(mu_);
      if (stopping_) return;
    }
    TakePeer();
    TakeCopies();
    SendPending();
  }
}

void ReplicaSender::Wait(absl::Time deadline) {
  pollfd fds[] = {{wake_.get(), POLLIN, 0}, {watch_.fd(), POLLIN, 0}};
  int timeout = -1;
  if (deadline != absl::InfiniteFuture()) {
    const absl::Duration left = std::max(deadline - clock_.Monotonic(), absl::ZeroDuration());
    timeout = static_cast<int>(absl::ToInt64Milliseconds(
        std::min(absl::Ceil(left, absl::Milliseconds(1)), absl::Hours(1))));
  }
  poll(fds, 2, timeout);
  wake_.Clear();
}

void ReplicaSender::TakeCopies() {
  for (CompletedCopy& copy : watch_.Take()) {
    pace_.NoteCopy(copy.local_rank, clock_.Monotonic());
    pending_[copy.local_rank] = std::move(copy);
  }
}

void ReplicaSender::TakePeer() {
  {
    MutexLock lock(mu_);
    if (std::exchange(peer_changed_, false)) {
      peer_ = next_peer_;
      channel_ = nullptr;
      retry_at_ = absl::InfinitePast();
    }
    if (!std::exchange(look_again_, false)) return;
  }
  for (int rank = 0; rank < options_.ranks; ++rank) {
    auto copy = watch_.Newest(rank);
    if (copy && !IsAtPeer(*copy)) pending_[rank] = *std::move(copy);
  }
}

bool ReplicaSender::IsAtPeer(const CompletedCopy& copy) {
  const v1alpha1::Version version = VersionOf(InspectCheckpoint(files_, copy.path));
  MutexLock lock(mu_);
  return standing_.Has(copy.local_rank, version);
}

bool ReplicaSender::Interrupted() {
  MutexLock lock(mu_);
  return stopping_ || peer_changed_;
}

bool ReplicaSender::HasOrders() {
  MutexLock lock(mu_);
  return stopping_ || peer_changed_ || look_again_;
}

void ReplicaSender::SendPending() {
  while (peer_ && !pending_.empty() && clock_.Monotonic() >= retry_at_ && !Interrupted()) {
    const CompletedCopy copy = pending_.begin()->second;
    pending_.erase(pending_.begin());
    const absl::Status sent = Send(copy);
    TakeCopies();
    // A copy that was replaced meanwhile is followed by its successor.
    if (sent.ok() || absl::IsAborted(sent) || absl::IsNotFound(sent)) continue;
    if (Interrupted()) return;
    MUSTER_LOG_LIMITED(WARN, peer_->endpoint(), "no replica of the copies; training goes on",
                       {"worker", peer_->worker()}, {"error", sent});
    NoteFailed();
    pending_.try_emplace(copy.local_rank, copy);
    retry_at_ = clock_.Monotonic() + kRetry;
    channel_ = nullptr;
  }
}

void ReplicaSender::TellAll() {
  for (int rank = 0; rank < options_.ranks; ++rank) tell_(rank, standing_.Report(rank));
}

void ReplicaSender::NoteKept(const CompletedCopy& copy, const v1alpha1::Version& version) {
  MutexLock lock(mu_);
  if (peer_changed_) return;
  standing_.Kept(copy.local_rank, version, sending_);
  TellAll();
}

void ReplicaSender::NoteFailed() {
  MutexLock lock(mu_);
  if (!peer_changed_ && standing_.Failed()) TellAll();
}

absl::Status ReplicaSender::Send(const CompletedCopy& copy) {
  const CheckpointListing listing = InspectCheckpoint(files_, copy.path);
  if (!listing.complete) return absl::NotFoundError("a newer copy has taken its place");
  grpc::ClientContext context;
  context.set_deadline(
      std::chrono::system_clock::now() +
      absl::ToChronoMilliseconds(pace_.Deadline(static_cast<int64_t>(listing.bytes))));
  {
    MutexLock lock(mu_);
    if (stopping_ || peer_changed_) return absl::AbortedError("the peer has changed");
    context_ = &context;
  }
  const absl::Status sent = Stream(copy, context);
  {
    MutexLock lock(mu_);
    context_ = nullptr;
  }
  if (sent.ok()) NoteKept(copy, VersionOf(listing));
  return sent;
}

absl::Status ReplicaSender::AwaitTurn(absl::Time next) {
  while (clock_.Monotonic() < next && !Interrupted()) {
    Wait(next);
    TakeCopies();
  }
  return Interrupted() ? absl::AbortedError("the peer has changed") : absl::OkStatus();
}

absl::Status ReplicaSender::Stream(const CompletedCopy& copy, grpc::ClientContext& context) {
  if (channel_ == nullptr) channel_ = dial_(*peer_);
  const auto stub = v1alpha1::Replicas::NewStub(channel_);
  v1alpha1::ReplicaKept kept;
  const auto writer = stub->Keep(&context, &kept);
  const absl::Time begun = clock_.Monotonic();
  int64_t total = 0;
  int64_t sent_bytes = 0;
  sending_ = absl::ZeroDuration();
  const auto write = [&](const v1alpha1::ReplicaPart& part) -> absl::Status {
    if (part.has_head()) total = part.head().bytes();
    MUSTER_RETURN_IF_ERROR(AwaitTurn(pace_.NextPart(begun, sent_bytes, total)));
    const absl::Time turn = clock_.Monotonic();
    const bool written = writer->Write(part);
    sending_ += clock_.Monotonic() - turn;
    if (!written) return absl::UnavailableError("the stream has ended");
    sent_bytes += static_cast<int64_t>(part.data().size());
    return absl::OkStatus();
  };
  const absl::Status sent = SendCopy(files_, copy.path, options_.worker, copy.local_rank, write);
  if (!sent.ok() && !absl::IsUnavailable(sent)) context.TryCancel();
  const absl::Time last = clock_.Monotonic();
  if (sent.ok()) writer->WritesDone();
  const grpc::Status ended = writer->Finish();
  sending_ += clock_.Monotonic() - last;
  // The peer's word says more than that the stream ended.
  if (sent.ok() || absl::IsUnavailable(sent)) {
    return ToAbsl(ended);
  }
  return sent;
}

}  // namespace muster::agent
