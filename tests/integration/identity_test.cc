// Agents' client and operator's coordinator over TLS, in one process: who is let in, who is refused
// and how that is seen, renewal, and a change of leader.
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "agent/worker/agent_identity.h"
#include "agent/worker/coordinator_channel.h"
#include "agent/worker/coordinator_client.h"
#include "base/files.h"
#include "base/manual_clock.h"
#include "base/memory_files.h"
#include "base/x509.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/agent_registry.h"
#include "operator/coordinator/authority_secret.h"
#include "operator/coordinator/certificate_authority.h"
#include "operator/coordinator/coordinator_identity.h"
#include "operator/coordinator/coordinator_server.h"
#include "operator/coordinator/fake_token_api.h"
#include "operator/coordinator/peer_identity.h"
#include "operator/coordinator/refusals.h"
#include "operator/coordinator/token_reviewer.h"
#include "operator/kube/api.h"
#include "operator/kube/memory_api.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"
#include "tests/integration/freezable_relay.h"

namespace muster {
namespace {

using control::FakeTokenApi;
using control::PeerIdentity;
using control::Refusal;
using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);
const PeerIdentity kWorker{"team", "gpt", "uid", 1, 3, "gpt-1-3", "pod-uid"};

v1alpha1::AgentMessage Hello(const PeerIdentity& worker) {
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

// One replica of the operator, as far as agents see it.
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
  int64_t refused(Refusal reason) const { return identity->refusals().counters().Of(reason); }

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
    api_ = std::make_unique<FakeTokenApi>(*memory_, clock_);
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

  // A certificate of the real authority, for whomever a test wants to be.
  agent::KeyAndCertificate CertificateOf(const PeerIdentity& worker, absl::Duration age = {},
                                         absl::Duration lifetime = absl::Hours(1)) {
    const auto authority = *control::LoadOrCreateAuthority(*api_, "muster", clock_.Wall());
    const PrivateKey key = *PrivateKey::Generate();
    return {key.ToPem(), *authority.SignWorker(worker, *MakeSigningRequest(key, "x"),
                                               clock_.Wall() - age, lifetime)};
  }
  // How an Attach of a bare client ends, or OK once it is welcomed.
  grpc::Status Attach(const std::shared_ptr<grpc::Channel>& channel, const PeerIdentity& claim) {
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
                                absl::Seconds(20));
  }
  // Refused with `code`, counted as `reason`; returns the sentence.
  std::string RefusedAttach(const agent::KeyAndCertificate& certificate, const PeerIdentity& claim,
                            Refusal reason, grpc::StatusCode code) {
    const int64_t before = first_->refused(reason);
    const int64_t logged = first_->identity->refusals().logged();
    const grpc::Status status = Attach(Channel(certificate), claim);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_EQ(first_->refused(reason), before + 1);
    EXPECT_EQ(first_->identity->refusals().logged(), logged + 1);
    EXPECT_EQ(first_->registry.attached(), 0);
    return status.error_message();
  }

  // Runs the client's loop at `*now` until `done`, keeping what happened.
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
        const auto* said = std::get_if<agent::OperatorSaid>(&event);
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
  // TLS libraries look at the real clock; this one starts there and moves when told to.
  ManualClock clock_{absl::Now()};
  MemoryFiles files_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<FakeTokenApi> api_;
  std::unique_ptr<Replica> first_;
  std::vector<int64_t> terms_;  // of every Welcome
  int closed_ = 0;
  int not_leaders_ = 0;
};

TEST_F(IdentityTest, AnAgentProvesItselfAndAttaches) {
  first_->Lead();
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  EXPECT_EQ(client.certificates(), 1);
  EXPECT_EQ(first_->registry.attached(), 1);
  EXPECT_EQ(api_->reviews(), 1);
  EXPECT_EQ(first_->identity->refusals().logged(), 0);
}

TEST_F(IdentityTest, ACertificateSpeaksForItsOwnWorkerOnly) {
  first_->Lead();
  const agent::KeyAndCertificate mine = CertificateOf(kWorker);
  ASSERT_TRUE(Attach(Channel(mine), kWorker).ok());
  const auto denied = grpc::StatusCode::PERMISSION_DENIED;
  PeerIdentity other = kWorker;
  other.job = "bert";
  other.job_uid = "other-uid";
  EXPECT_EQ(RefusedAttach(CertificateOf(other), kWorker, Refusal::kOtherJob, denied),
            "the certificate is for team/bert worker 1 incarnation 3, not for job team/gpt (uid "
            "uid)");
  other = kWorker;
  other.index = 0;
  EXPECT_EQ(RefusedAttach(CertificateOf(other), kWorker, Refusal::kOtherWorker, denied),
            "the certificate is for team/gpt worker 0 incarnation 3, not for worker 1");
  other = kWorker;
  other.incarnation = 2;
  EXPECT_EQ(RefusedAttach(CertificateOf(other), kWorker, Refusal::kOtherIncarnation, denied),
            "the certificate is for team/gpt worker 1 incarnation 2, not for incarnation 3");
  other = kWorker;
  other.pod_uid = "another";
  EXPECT_EQ(RefusedAttach(CertificateOf(other), kWorker, Refusal::kOtherPod, denied),
            "the certificate is for team/gpt worker 1 incarnation 3, not for pod pod-uid");
}

TEST_F(IdentityTest, AnOldIncarnationIsRefusedThoughItsCertificateIsGood) {
  first_->Lead();
  PeerIdentity old = kWorker;
  old.incarnation = 2;
  EXPECT_THAT(RefusedAttach(CertificateOf(old), old, Refusal::kReplaced,
                            grpc::StatusCode::FAILED_PRECONDITION),
              HasSubstr("incarnation 2 was replaced by incarnation 3"));
}

TEST_F(IdentityTest, WithoutACertificateOnlyIdentifyIsServed) {
  first_->Lead();
  EXPECT_THAT(
      RefusedAttach({}, kWorker, Refusal::kNoCertificate, grpc::StatusCode::UNAUTHENTICATED),
      HasSubstr("get one with Identify first"));
}

TEST_F(IdentityTest, ACertificateThatNamesNoWorkerIsRefused) {
  first_->Lead();
  PeerIdentity odd = kWorker;
  odd.pod = "a/b";
  EXPECT_THAT(RefusedAttach(CertificateOf(odd), kWorker, Refusal::kBadCertificate,
                            grpc::StatusCode::UNAUTHENTICATED),
              HasSubstr("does not name a worker"));
}

TEST_F(IdentityTest, HandshakesThatFailAreCounted) {
  first_->Lead();
  const auto handshake_refused = [&](const std::shared_ptr<grpc::Channel>& channel) {
    const int64_t before = first_->refused(Refusal::kHandshakeFailed);
    EXPECT_EQ(Attach(channel, kWorker).error_code(), grpc::StatusCode::UNAVAILABLE);
    // The peer may know before the server has counted it.
    const absl::Time deadline = absl::Now() + kPatience;
    while (first_->refused(Refusal::kHandshakeFailed) == before && absl::Now() < deadline) {
      poll(nullptr, 0, 5);
    }
    EXPECT_GT(first_->refused(Refusal::kHandshakeFailed), before);
  };
  // A client that speaks no TLS.
  handshake_refused(grpc::CreateChannel(first_->address(), grpc::InsecureChannelCredentials()));
  // A certificate that has expired by the real clock.
  handshake_refused(Channel(CertificateOf(kWorker, absl::Hours(2))));
  // Another authority's certificate for the same worker.
  const auto foreign = *control::CertificateAuthority::Make(clock_.Wall());
  const PrivateKey key = *PrivateKey::Generate();
  handshake_refused(
      Channel({key.ToPem(), *foreign.SignWorker(kWorker, *MakeSigningRequest(key, "x"),
                                                clock_.Wall(), absl::Hours(1))}));
  EXPECT_EQ(first_->registry.attached(), 0);
}

TEST_F(IdentityTest, AnAgentDoesNotTalkToAnotherAuthoritysCoordinator) {
  first_->Lead();
  const auto foreign = *control::CertificateAuthority::Make(clock_.Wall());
  const auto channel =
      agent::NewTlsChannel(first_->address(), foreign.bundle_pem(), {}, absl::Seconds(20));
  EXPECT_EQ(Attach(channel, kWorker).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(first_->refused(Refusal::kNoCertificate), 0);
}

TEST_F(IdentityTest, TheCertificateIsRenewedOverTheSameStreamWithTheTokenOfThatMoment) {
  first_->Lead();
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  // kubelet has replaced the token meanwhile; the first one is of no use any more.
  SetToken(api_->Issue({"team", "gpt-1-3", "pod-uid"}));
  api_->Revoke("token-1");
  clock_.Advance(absl::Minutes(45));
  ASSERT_TRUE(RunUntil(client, [&] { return client.certificates() == 2; }));
  // The first certificate is over; the stream lives by the second.
  clock_.Advance(absl::Minutes(30));
  const absl::Time heard = first_->registry.Agents("uid")[0].last_heard;
  Heartbeat(client);
  ASSERT_TRUE(
      RunUntil(client, [&] { return first_->registry.Agents("uid")[0].last_heard > heard; }));
  EXPECT_EQ(closed_, 0);
  EXPECT_EQ(terms_.size(), 1u);
}

TEST_F(IdentityTest, AStreamEndsWithItsCertificateWhenItCannotBeRenewed) {
  first_->Lead();
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  api_->Revoke("token-1");  // as when the pod is deleted
  clock_.Advance(absl::Minutes(61));
  Heartbeat(client);
  ASSERT_TRUE(RunUntil(client, [&] { return closed_ > 0; }));
  EXPECT_EQ(first_->refused(Refusal::kCertificateExpired), 1);
  ASSERT_TRUE(RunUntil(client, [&] { return first_->refused(Refusal::kTokenRejected) > 0; }));
  EXPECT_EQ(first_->registry.attached(), 0);
  // A good token lets it back in. Signed at the real time, or TLS would not take it.
  clock_.StepWall(-absl::Minutes(61));
  SetToken(api_->Issue({"team", "gpt-1-3", "pod-uid"}));
  ASSERT_TRUE(Welcomed(client, 2));
}

TEST_F(IdentityTest, AnAgentWithABadTokenAsksAgainAndIsLoggedOnce) {
  first_->Lead();
  SetToken(api_->Issue({"team", "gpt-1-3", "pod-uid", "muster.dev/other"}));
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(RunUntil(client, [&] { return first_->refused(Refusal::kWrongAudience) >= 3; }));
  EXPECT_EQ(first_->identity->refusals().logged(), 1);
  SetToken(api_->Issue({"team", "gpt-1-3", "pod-uid"}));
  ASSERT_TRUE(Welcomed(client));
}

TEST_F(IdentityTest, AgentsFollowTheLeader) {
  Replica second(*api_, clock_, 2);
  second.registry.SetStandby(first_->address());
  first_->Lead();
  // The standby is asked first and says who leads.
  agent::CoordinatorClient client(ClientOptions({second.address(), first_->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  EXPECT_EQ(first_->registry.attached(), 1);
  // A planned hand-over: the first says who follows.
  second.Lead();
  first_->registry.SetStandby(second.address());
  ASSERT_TRUE(Welcomed(client, 2));
  EXPECT_EQ(second.registry.attached(), 1);
  EXPECT_EQ(terms_, (std::vector<int64_t>{1, 2}));
  // Its certificate is good at every replica.
  EXPECT_EQ(client.certificates(), 1);
}

// While nobody leads, thousands of agents ask every standby again and again.
TEST_F(IdentityTest, AStandbyIsAskedAgainOverTheSameConnection) {
  first_->registry.SetStandby("127.0.0.1:1");  // a leader that is gone
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(RunUntil(client, [&] { return not_leaders_ >= 4; }));
  first_->Lead();
  ASSERT_TRUE(Welcomed(client));
  // One for Identify, one with the certificate, and those to the leader that is gone.
  EXPECT_LE(client.connections() - not_leaders_, 2);
  EXPECT_GE(not_leaders_, 4);
}

TEST_F(IdentityTest, AConnectionToAStandbyThatBreaksIsMadeAnew) {
  auto second = std::make_unique<Replica>(*api_, clock_, 2);
  const std::string address = second->address();
  second->registry.SetStandby("");
  agent::CoordinatorClient client(ClientOptions({address, first_->address()}), files_);
  first_->registry.SetStandby("");
  ASSERT_TRUE(RunUntil(client, [&] { return not_leaders_ >= 3; }));
  second.reset();
  first_->Lead();
  ASSERT_TRUE(Welcomed(client));
}

TEST_F(IdentityTest, AgentsFindTheNextLeaderWhenTheFirstIsGone) {
  auto second = std::make_unique<Replica>(*api_, clock_, 2);
  second->registry.SetStandby(first_->address());
  first_->Lead();
  agent::CoordinatorClient client(ClientOptions({first_->address(), second->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  first_->server.reset();
  second->Lead();
  ASSERT_TRUE(Welcomed(client, 2));
  EXPECT_EQ(client.certificates(), 1);
}

TEST_F(IdentityTest, AgentsLeaveALeaderThatHasGoneSilent) {
  auto second = std::make_unique<Replica>(*api_, clock_, 2);
  second->Lead();
  first_->Lead();
  tests::FreezableRelay relay(first_->address());
  agent::CoordinatorClientOptions options = ClientOptions({relay.address(), second->address()});
  options.silence = absl::Milliseconds(800);
  agent::CoordinatorClient client(std::move(options), files_);
  ASSERT_TRUE(Welcomed(client));
  relay.Freeze();
  ASSERT_TRUE(Welcomed(client, 2));
  EXPECT_EQ(terms_, (std::vector<int64_t>{1, 2}));
}

// The serving certificate changes under an open connection, and for the next one.
TEST_F(IdentityTest, TheServersCertificateIsRenewedWithoutDroppingAStream) {
  first_->Lead();
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  const int64_t before = first_->identity->ServingCertificate()->generation;
  clock_.Advance(absl::Hours(17));
  clock_.StepWall(-absl::Hours(17));  // what is signed now must hold by the real clock
  EXPECT_TRUE(Attach(Channel(CertificateOf(kWorker)), kWorker).ok());
  EXPECT_EQ(first_->identity->ServingCertificate()->generation, before + 1);
}

}  // namespace
}  // namespace muster
