#include "operator/coordinator/identity/coordinator_identity.h"

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "base/tls/x509.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/authority_secret.h"
#include "operator/coordinator/identity/fake_token_api.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/coordinator/identity/validity_table.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const PeerIdentity kWorker{"team", "gpt", "job-uid", 1, 3, "gpt-1-3", "pod-uid"};

TEST(PeerIdentityTest, TheUriSaysWhoAndNothingElseIsTaken) {
  const std::string uri = ToUri(kWorker);
  EXPECT_EQ(uri, "spiffe://muster/ns/team/job/gpt/job-uid/worker/1/3/pod/gpt-1-3/pod-uid");
  ASSERT_TRUE(ParsePeerUri(uri).ok());
  EXPECT_EQ(*ParsePeerUri(uri), kWorker);
  for (const char* wrong :
       {"", "spiffe://other/ns/team/job/gpt/job-uid/worker/1/3/pod/gpt-1-3/pod-uid",
        "spiffe://muster/ns/team/job/gpt/job-uid/worker/1/3/pod/gpt-1-3",
        "spiffe://muster/ns/team/job/gpt/job-uid/worker/1/3/pod/gpt-1-3/pod-uid/",
        "spiffe://muster/ns/team/job/gpt/job-uid/worker/01/3/pod/gpt-1-3/pod-uid",
        "spiffe://muster/ns/team/job/gpt/job-uid/worker/-1/3/pod/gpt-1-3/pod-uid",
        "spiffe://muster/ns/team/job/gpt/job-uid/worker/1/99999999999/pod/gpt-1-3/pod-uid",
        "spiffe://muster/ns//job/gpt/job-uid/worker/1/3/pod/gpt-1-3/pod-uid",
        "spiffe://muster/ns/te%61m/job/gpt/job-uid/worker/1/3/pod/gpt-1-3/pod-uid"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePeerUri(wrong).status())) << wrong;
  }
}

TEST(ValidityTableTest, ARenewalExtendsWhatAStreamHolds) {
  ValidityTable table;
  const absl::Time now = absl::FromUnixSeconds(1000);
  table.Extend("a", now + absl::Hours(1));  // ignored: no stream holds "a" yet
  auto entry = table.Hold("a", now + absl::Seconds(10));
  EXPECT_TRUE(entry->ValidAt(now + absl::Seconds(9)));
  EXPECT_FALSE(entry->ValidAt(now + absl::Seconds(10)));
  table.Extend("a", now + absl::Seconds(20));
  table.Extend("a", now + absl::Seconds(5));  // never shortened
  EXPECT_TRUE(entry->ValidAt(now + absl::Seconds(19)));
  for (int i = 0; i < 10'000; ++i) table.Hold(std::to_string(i), now);
  EXPECT_LE(table.size(), 129u);
  EXPECT_EQ(table.Hold("a", now), entry);
}

TEST(RefusalLogTest, CountsAllAndLogsEachPeerAndReasonOnceAMinute) {
  ManualClock clock;
  RefusalLog log(clock);
  const absl::Status no =
      Refused(Refusal::kOtherJob, absl::StatusCode::kPermissionDenied, "not yours");
  EXPECT_EQ(RefusalOf(no), Refusal::kOtherJob);
  for (int i = 0; i < 100; ++i) log.Note(no, "10.0.0.1");
  log.Note(no, "10.0.0.2");
  log.Note(absl::UnavailableError("later"), "10.0.0.1");  // no refusal
  EXPECT_EQ(log.counters().Of(Refusal::kOtherJob), 101);
  EXPECT_EQ(log.logged(), 2);
  clock.Advance(RefusalLog::kQuiet);
  log.Note(no, "10.0.0.1");
  EXPECT_EQ(log.logged(), 3);
  for (size_t i = 0; i < 3 * RefusalLog::kMaxPeers; ++i) log.Note(no, std::to_string(i));
  for (int i = 0; i < static_cast<int>(Refusal::kCount); ++i) {
    EXPECT_NE(Name(static_cast<Refusal>(i)), "Unknown");
  }
}

class CoordinatorIdentityTest : public testing::Test {
 protected:
  CoordinatorIdentityTest() {
    kube::MemoryApiOptions options;
    options.random = [n = uint64_t{0}]() mutable { return ++n; };
    memory_ = *kube::MemoryApi::Open(clock_, std::move(options));
    api_ = std::make_unique<FakeTokenApi>(*memory_, clock_);
  }
  std::unique_ptr<CoordinatorIdentity> Make() {
    CoordinatorIdentityOptions options;
    options.operator_namespace = "muster";
    options.find_worker = [this](const ReviewedPod& pod) -> absl::StatusOr<PeerIdentity> {
      EXPECT_EQ(pod.name, "gpt-1-3");
      EXPECT_EQ(pod.uid, "pod-uid");
      EXPECT_EQ(pod.ns, "team");
      if (!found_.ok()) return found_;
      return kWorker;
    };
    auto identity = CoordinatorIdentity::Create(*api_, clock_, std::move(options));
    EXPECT_TRUE(identity.ok()) << identity.status();
    return identity.ok() ? *std::move(identity) : nullptr;
  }
  v1alpha1::IdentifyRequest Request(const std::string& token) {
    v1alpha1::IdentifyRequest request;
    request.set_token(token);
    request.set_signing_request(*MakeSigningRequest(key_, "whatever it says"));
    return request;
  }
  std::string Token() { return api_->Issue({"team", "gpt-1-3", "pod-uid"}); }

  ManualClock clock_;
  absl::Status found_;
  PrivateKey key_ = *PrivateKey::Generate();
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<FakeTokenApi> api_;
};

TEST_F(CoordinatorIdentityTest, ReplicasShareTheAuthorityThatTheFirstMade) {
  const auto first = Make();
  const auto second = Make();
  EXPECT_EQ(first->authority_pem(), second->authority_pem());
  const auto secret = memory_->Get(kube::kSecrets, {"muster", kAuthoritySecret});
  ASSERT_TRUE(secret.ok());
  EXPECT_EQ((*secret)["type"], "kubernetes.io/tls");
  const auto info = ReadCertificate(first->authority_pem());
  EXPECT_TRUE(info->is_authority);
  const auto serving = first->ServingCertificate();
  ASSERT_TRUE(serving.ok());
  EXPECT_THAT(ReadCertificate(serving->issued.certificate_pem)->dns_names,
              ElementsAre("muster-coordinator"));
}

TEST_F(CoordinatorIdentityTest, ASecretThatHoldsNoAuthorityIsNotOverwritten) {
  Json secret = kube::NewObject(kube::kSecrets, {"muster", kAuthoritySecret});
  secret["data"] = {{"tls.crt", absl::Base64Escape("nonsense")}, {"tls.key", "bm8="}};
  ASSERT_TRUE(memory_->Create(kube::kSecrets, secret).ok());
  const auto identity = CoordinatorIdentity::Create(*api_, clock_, {"muster", {}, {}, {}});
  EXPECT_TRUE(absl::IsInvalidArgument(identity.status()));
  EXPECT_THAT(std::string(identity.status().message()),
              HasSubstr("Secret muster/muster-coordinator-ca does not hold a certificate"));
  EXPECT_EQ((*memory_->Get(kube::kSecrets, {"muster", kAuthoritySecret}))["data"], secret["data"]);
}

TEST_F(CoordinatorIdentityTest, TheServingCertificateIsRenewedAtTwoThirdsOfItsLife) {
  const auto identity = Make();
  const auto first = *identity->ServingCertificate();
  clock_.Advance(absl::Hours(15));
  EXPECT_EQ(identity->ServingCertificate()->generation, first.generation);
  clock_.Advance(absl::Hours(2));
  const auto second = *identity->ServingCertificate();
  EXPECT_EQ(second.generation, first.generation + 1);
  EXPECT_EQ(second.issued.not_after, clock_.Wall() + absl::Hours(24));
  EXPECT_EQ(identity->serving_not_after(), second.issued.not_after);
  const auto authority = ReadCertificate(identity->authority_pem());
  EXPECT_EQ(identity->authority_not_after(), authority->not_after);
  EXPECT_EQ(Make()->authority_not_after(), authority->not_after) << "read, not made";
  EXPECT_NE(second.issued.key_pem, first.issued.key_pem);
}

TEST_F(CoordinatorIdentityTest, AWorkersCertificateSaysWhatTheClusterSaysNotWhatItAsksFor) {
  const auto identity = Make();
  const auto response = identity->Identify(Request(Token()), "10.0.0.1");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->lifetime_seconds(), 3600);
  const auto info = ReadCertificate(response->certificate());
  EXPECT_THAT(info->uris, ElementsAre(ToUri(kWorker)));
  EXPECT_EQ(info->common_name, "muster worker");
  EXPECT_FALSE(info->is_authority);
  EXPECT_EQ(info->not_after, clock_.Wall() + absl::Hours(1));
  EXPECT_TRUE(KeyMatches(key_, response->certificate()));
  EXPECT_EQ(identity->refusals().counters().certificates_signed, 1);
}

TEST_F(CoordinatorIdentityTest, RefusesEveryTokenButABoundOneForIt) {
  const auto identity = Make();
  const auto why = [&](const FakeTokenApi::Token& token, Refusal reason) {
    const auto response = identity->Identify(Request(api_->Issue(token)), "10.0.0.1");
    EXPECT_TRUE(absl::IsUnauthenticated(response.status())) << response.status();
    EXPECT_EQ(RefusalOf(response.status()), reason);
    EXPECT_EQ(identity->refusals().counters().Of(reason), 1);
    return std::string(response.status().message());
  };
  EXPECT_THAT(why({"team", "gpt-1-3", "pod-uid", "https://kubernetes.default.svc"},
                  Refusal::kWrongAudience),
              HasSubstr("is invalid for the target audiences"));
  EXPECT_THAT(why({.ns = "team"}, Refusal::kUnboundToken),
              StartsWith("the token of system:serviceaccount:team:default is not bound to a pod"));
  EXPECT_THAT(why({.ns = "team", .pod = "gpt-1-3", .pod_uid = "pod-uid", .expires = clock_.Wall()},
                  Refusal::kTokenRejected),
              HasSubstr("service account token has expired"));
  EXPECT_EQ(identity->refusals().counters().certificates_signed, 0);
  EXPECT_EQ(identity->refusals().logged(), 3);
}

TEST_F(CoordinatorIdentityTest, ATokenOfADeletedPodIsRefused) {
  const auto identity = Make();
  const std::string token = Token();
  ASSERT_TRUE(identity->Identify(Request(token), "a").ok());
  api_->Revoke(token);
  EXPECT_EQ(RefusalOf(identity->Identify(Request(token), "a").status()), Refusal::kTokenRejected);
}

TEST_F(CoordinatorIdentityTest, AServerThatKnowsNoAudiencesIsNotBelieved) {
  Json review = {
      {"status",
       {{"authenticated", true}, {"user", {{"username", "system:serviceaccount:team:default"}}}}}};
  EXPECT_EQ(RefusalOf(ReadTokenReview(review).status()), Refusal::kWrongAudience);
  EXPECT_EQ(RefusalOf(ReadTokenReview(Json("text")).status()), Refusal::kTokenRejected);
}

TEST_F(CoordinatorIdentityTest, ARequestThatItsKeyDidNotSignIsRefused) {
  const auto identity = Make();
  v1alpha1::IdentifyRequest request = Request(Token());
  request.set_signing_request("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n");
  const auto response = identity->Identify(request, "a");
  EXPECT_TRUE(absl::IsInvalidArgument(response.status())) << response.status();
  EXPECT_EQ(RefusalOf(response.status()), Refusal::kBadRequest);
  request.set_token(std::string(TokenReviewer::kMaxTokenBytes + 1, 'x'));
  EXPECT_EQ(RefusalOf(identity->Identify(request, "a").status()), Refusal::kBadRequest);
}

TEST_F(CoordinatorIdentityTest, AnUnknownPodOrAnUnreachableServerIsNoRefusal) {
  const auto identity = Make();
  found_ = absl::UnavailableError("not known yet");
  EXPECT_EQ(identity->Identify(Request(Token()), "a").status(), found_);
  api_->FailReviews(absl::UnavailableError("the API server is away"));
  const auto away = identity->Identify(Request(Token()), "a");
  EXPECT_TRUE(absl::IsUnavailable(away.status()));
  EXPECT_THAT(std::string(away.status().message()),
              HasSubstr("the API server did not review a token"));
  EXPECT_EQ(identity->refusals().logged(), 0);
}

}  // namespace
}  // namespace muster::control
