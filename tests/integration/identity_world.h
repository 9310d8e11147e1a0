#ifndef MUSTER_TESTS_INTEGRATION_IDENTITY_WORLD_H_
#define MUSTER_TESTS_INTEGRATION_IDENTITY_WORLD_H_

#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/worker/stream/agent_identity.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/files/files.h"
#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "base/testing/patience.h"
#include "base/tls/x509.h"
#include "gtest/gtest.h"
#include "operator/coordinator/coordinator_server.h"
#include "operator/coordinator/identity/authority_secret.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/coordinator/identity/fake_token_api.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/kube/api.h"
#include "operator/kube/memory/memory_api.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster {

inline const control::PeerIdentity kWorker{"team", "gpt", "uid", 1, 3, "gpt-1-3", "pod-uid"};

inline v1alpha1::AgentMessage Hello(const control::PeerIdentity& worker) {
  v1alpha1::AgentMessage message;
  v1alpha1::WorkerId& id = *message.mutable_hello()->mutable_worker();
  id.set_namespace_(worker.ns);
  id.set_job(worker.job);
  id.set_job_uid(worker.job_uid);
  id.set_index(worker.index);
  id.set_incarnation(worker.incarnation);
  id.set_pod_uid(worker.pod_uid);
  return message;
}

// The parts of an operator replica that agents talk to.
struct Replica {
  Replica(kube::Api& api, const Clock& clock, int64_t term)
      : registry(clock, nullptr, [](const std::string&) {}) {
    control::CoordinatorIdentityOptions options;
    options.operator_namespace = "muster";
    options.find_worker = [](const control::ReviewedPod&) { return kWorker; };
    identity = *control::CoordinatorIdentity::Create(api, clock, std::move(options));
    server = *control::CoordinatorServer::Start({"127.0.0.1:0"}, registry, identity.get());
    job.key = "team/gpt";
    job.uid = "uid";
    job.term = term;
    job.incarnations = {1, 3};
  }
  void Lead() {
    registry.SetLeader();
    registry.Register(job);
  }
  std::string address() const { return server->addresses()[0]; }
  int64_t refused(control::Refusal reason) const {
    return identity->refusals().counters().Of(reason);
  }

  control::JobRegistration job;
  control::AgentRegistry registry;
  std::unique_ptr<control::CoordinatorIdentity> identity;
  std::unique_ptr<control::CoordinatorServer> server;
};

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() {
    kube::MemoryApiOptions options;
    options.random = [n = uint64_t{0}]() mutable { return ++n; };
    memory_ = *kube::MemoryApi::Open(clock_, std::move(options));
    api_ = std::make_unique<control::FakeTokenApi>(*memory_, clock_);
    first_ = std::make_unique<Replica>(*api_, clock_, 1);
    EXPECT_TRUE(files_.MakeDirectories("/run").ok());
    SetToken(api_->Issue({"team", "gpt-1-3", "pod-uid"}));
  }

  void SetToken(const std::string& token) {
    EXPECT_TRUE(WriteFileAtomically(files_, "/run/token", token).ok());
  }
  agent::CoordinatorClientOptions ClientOptions(std::vector<std::string> addresses) {
    agent::CoordinatorClientOptions options;
    options.addresses = std::move(addresses);
    options.identity = {first_->identity->authority_pem(), "/run/token"};
    return options;
  }

  // A certificate signed by the real authority, for any worker identity that a test wants.
  agent::KeyAndCertificate CertificateOf(const control::PeerIdentity& worker,
                                         absl::Duration age = {},
                                         absl::Duration lifetime = absl::Hours(1)) {
    const auto authority = *control::LoadOrCreateAuthority(*api_, "muster", clock_.Wall());
    const PrivateKey key = *PrivateKey::Generate();
    return {key.ToPem(), *authority.SignWorker(worker, *MakeSigningRequest(key, "x"),
                                               clock_.Wall() - age, lifetime)};
  }
  // Attaches with a bare client. Returns OK once the client is welcomed, else the status that ended
  // the stream.
  grpc::Status Attach(const std::shared_ptr<grpc::Channel>& channel,
                      const control::PeerIdentity& claim) {
    const auto stub = v1alpha1::Coordinator::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
    auto stream = stub->Attach(&context);
    stream->Write(Hello(claim));
    v1alpha1::OperatorMessage message;
    if (!stream->Read(&message)) return stream->Finish();
    EXPECT_TRUE(message.has_welcome());
    context.TryCancel();
    stream->Finish();
    return grpc::Status::OK;
  }
  std::shared_ptr<grpc::Channel> Channel(const agent::KeyAndCertificate& certificate) {
    return agent::NewTlsChannel(first_->address(), first_->identity->authority_pem(), certificate,
                                kPatience);
  }
  // Expects that Attach() is refused with `code` and counted as `reason`. Returns the error
  // message.
  std::string RefusedAttach(const agent::KeyAndCertificate& certificate,
                            const control::PeerIdentity& claim, control::Refusal reason,
                            grpc::StatusCode code) {
    const int64_t before = first_->refused(reason);
    const int64_t logged = first_->identity->refusals().logged();
    const grpc::Status status = Attach(Channel(certificate), claim);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_EQ(first_->refused(reason), before + 1);
    EXPECT_EQ(first_->identity->refusals().logged(), logged + 1);
    EXPECT_EQ(first_->registry.attached(), 0);
    return status.error_message();
  }

  // Runs the client's loop until `done`, counting events in terms_, closed_ and not_leaders_.
  // Returns false when kPatience has passed.
  bool RunUntil(agent::CoordinatorClient& client, const std::function<bool()>& done) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (!done()) {
      if (absl::Now() > deadline) return false;
      pollfd fd = {client.poll_fd(), POLLIN, 0};
      poll(&fd, 1, 10);
      const absl::Time now = clock_.Monotonic() + (absl::Now() - started_);
      for (const agent::Event& event : client.Collect(now)) {
        if (std::holds_alternative<agent::StreamOpened>(event)) client.Send(Hello(kWorker));
        if (std::holds_alternative<agent::StreamClosed>(event)) ++closed_;
        const auto* said = std::get_if<agent::OperatorMessageReceived>(&event);
        if (said == nullptr) continue;
        if (said->message.has_welcome()) terms_.push_back(said->message.welcome().term());
        if (!said->message.has_not_leader()) continue;
        ++not_leaders_;
        client.Redial(said->message.not_leader().address());
      }
    }
    return true;
  }
  bool Welcomed(agent::CoordinatorClient& client, size_t times = 1) {
    return RunUntil(client, [&] { return terms_.size() >= times; });
  }
  void Heartbeat(agent::CoordinatorClient& client) {
    v1alpha1::AgentMessage message;
    message.mutable_heartbeat();
    client.Send(message);
  }

  const absl::Time started_ = absl::Now();
  // TLS libraries read the real clock; this one starts at the same time and moves only when told
  // to.
  ManualClock clock_{absl::Now()};
  MemoryFiles files_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<control::FakeTokenApi> api_;
  std::unique_ptr<Replica> first_;
  std::vector<int64_t> terms_;  // of every Welcome
  int closed_ = 0;
  int not_leaders_ = 0;
};

}  // namespace muster

#endif  // MUSTER_TESTS_INTEGRATION_IDENTITY_WORLD_H_
