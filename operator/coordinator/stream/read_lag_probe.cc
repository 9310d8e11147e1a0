#include "operator/coordinator/stream/read_lag_probe.h"

#include <errno.h>
#include <grpcpp/alarm.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/server_posix.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::control {
namespace {

constexpr std::chrono::milliseconds kPeriod{250};

}  // namespace

// The probe runs Ask -> OnAnswer -> an alarm -> Ask; one of them is always under way until the end.
struct ReadLagProbe::State {
  State(const Clock& clock_in, std::function<void(absl::Time)> heard_in)
      : clock(clock_in), heard(std::move(heard_in)) {}

  void Ask() {
    MutexLock lock(mu);
    if (stopping) return EndLocked();
    asked = clock.Monotonic();
    context.emplace();
    // The server answers UNIMPLEMENTED to a peer without TLS, which is answer enough.
    stub->async()->Identify(&*context, &request, &response,
                            [this](const grpc::Status& answer) { OnAnswer(answer); });
  }

  void OnAnswer(const grpc::Status& answer) {
    absl::Time known = absl::InfinitePast();
    {
      MutexLock lock(mu);
      // Messages that were read together with this question may not be processed yet, so the time
      // of the question before it is reported.
      if (answer.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
        known = std::exchange(answered, asked);
      }
    }
    if (known != absl::InfinitePast()) heard(known);
    MutexLock lock(mu);
    if (stopping) return EndLocked();
    alarm.emplace();
    alarm->Set(std::chrono::system_clock::now() + kPeriod, [this](bool) { Ask(); });
  }

  void EndLocked() MUSTER_REQUIRES(mu) {
    ended = true;
    changed.NotifyAll();
  }

  const Clock& clock;
  const std::function<void(absl::Time)> heard;
  std::unique_ptr<v1alpha1::Coordinator::Stub> stub;
  // The arguments of the call under way.
  std::optional<grpc::ClientContext> context;
  v1alpha1::IdentifyRequest request;
  v1alpha1::IdentifyResponse response;

  Mutex mu;
  CondVar changed;
  std::optional<grpc::Alarm> alarm MUSTER_GUARDED_BY(mu);
  absl::Time asked MUSTER_GUARDED_BY(mu) = absl::InfinitePast();
  absl::Time answered MUSTER_GUARDED_BY(mu) =
      absl::InfinitePast();  // when the newest answered request was sent
  bool stopping MUSTER_GUARDED_BY(mu) = false;
  bool ended MUSTER_GUARDED_BY(mu) = false;
};

ReadLagProbe::ReadLagProbe(std::shared_ptr<State> state) : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<ReadLagProbe>> ReadLagProbe::Start(
    grpc::Server& server, const Clock& clock, std::function<void(absl::Time when)> heard) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pair of sockets");
  }
  // gRPC owns both ends from here on.
  grpc::AddInsecureChannelFromFd(&server, ends[0]);
  auto state = std::make_shared<State>(clock, std::move(heard));
  state->stub =
      v1alpha1::Coordinator::NewStub(grpc::CreateInsecureChannelFromFd("itself", ends[1]));
  state->Ask();
  return std::unique_ptr<ReadLagProbe>(new ReadLagProbe(std::move(state)));
}

ReadLagProbe::~ReadLagProbe() {
  MutexLock lock(state_->mu);
  state_->stopping = true;
  if (state_->alarm.has_value()) state_->alarm->Cancel();
  while (!state_->ended) state_->changed.Wait(state_->mu);
}

}  // namespace muster::control
