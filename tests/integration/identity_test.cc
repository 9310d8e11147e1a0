// Tests the agents' client and the operator's coordinator over TLS, in one process: who is
// admitted, who is refused and how that is reported, and renewal of certificates.
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/tls/x509.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/coordinator_service.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "operator/coordinator/identity/refusals.h"
#include "tests/integration/identity_world.h"

namespace muster {
namespace {

using control::PeerIdentity;
using control::Refusal;
using testing::HasSubstr;

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

// Otherwise any peer could send 16 MiB as often as it liked.
TEST_F(IdentityTest, AnIdentifyThatIsTooLargeIsRefusedBeforeItsTokenIsReviewed) {
  const auto stub = v1alpha1::Coordinator::NewStub(Channel({}));
  v1alpha1::IdentifyRequest request;
  v1alpha1::IdentifyResponse response;
  request.set_token(std::string(control::CoordinatorService::kMaxIdentifyBytes, 'x'));
  grpc::ClientContext context;
  const grpc::Status status = stub->Identify(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("at most 32768 bytes, not 32772"));
  EXPECT_EQ(first_->refused(Refusal::kBadRequest), 1);
  EXPECT_EQ(api_->reviews(), 0);
}

TEST_F(IdentityTest, AnAddressThatAsksTooOftenIsRefusedUntilItsQuotaFillsAgain) {
  first_->Lead();
  while (first_->identity->Admit(1, 1, "127.0.0.1").ok()) {
  }
  EXPECT_TRUE(first_->identity->Admit(1, 1, "10.0.0.7").ok()) << "others have their own";
  const auto stub = v1alpha1::Coordinator::NewStub(Channel({}));
  v1alpha1::IdentifyRequest request;
  v1alpha1::IdentifyResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(stub->Identify(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(first_->refused(Refusal::kTooOften), 2);
  EXPECT_EQ(api_->reviews(), 0);
  clock_.Advance(absl::Seconds(1));
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  EXPECT_TRUE(Welcomed(client));
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
    // The peer may see the refusal before the server has counted it.
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
  // kubelet has replaced the token meanwhile; the first one is no longer valid.
  SetToken(api_->Issue({"team", "gpt-1-3", "pod-uid"}));
  api_->Revoke("token-1");
  clock_.Advance(absl::Minutes(45));
  ASSERT_TRUE(RunUntil(client, [&] { return client.certificates() == 2; }));
  // The first certificate has expired; the second keeps the stream alive.
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
  // A valid token lets the agent back in. Its certificate must be signed at the real time for TLS
  // to accept it.
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

// The serving certificate changes while a connection is open; new connections get the new one.
TEST_F(IdentityTest, TheServersCertificateIsRenewedWithoutDroppingAStream) {
  first_->Lead();
  agent::CoordinatorClient client(ClientOptions({first_->address()}), files_);
  ASSERT_TRUE(Welcomed(client));
  const int64_t before = first_->identity->ServingCertificate()->generation;
  clock_.Advance(absl::Hours(17));
  clock_.StepWall(-absl::Hours(17));  // new certificates must be valid by the real clock
  EXPECT_TRUE(Attach(Channel(CertificateOf(kWorker)), kWorker).ok());
  EXPECT_EQ(first_->identity->ServingCertificate()->generation, before + 1);
}

}  // namespace
}  // namespace muster
