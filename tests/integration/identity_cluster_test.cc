// Tests pod tokens and the certificate authority's Secret on a real API server.
#include <poll.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "base/tls/x509.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/authority_secret.h"
#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/coordinator/identity/token_reviewer.h"
#include "operator/kube/api.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api.h"
#include "tests/testenv/test_cluster.h"

namespace muster::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kLookMillis = 200;
const kube::CallOptions kLongTimeout = {.timeout = kPatience};

class IdentityClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto cluster = tests::TestCluster::Create("identity");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    config_ = *kube::LoadKubeconfig({cluster_->kubeconfig()});
    api_ = *kube::RestApi::Create(config_);
    ns_ = cluster_->name_space();
    Json account = kube::NewObject(kube::kServiceAccounts, {ns_, "worker"});
    ASSERT_TRUE(api_->Create(kube::kServiceAccounts, account, kLongTimeout).ok());
    Json pod = kube::NewObject(kube::kPods, {ns_, "gpt-0-1"});
    pod["spec"] = {{"serviceAccountName", "worker"},
                   {"schedulerName", "muster"},
                   {"containers", {{{"name", "worker"}, {"image", "none"}}}}};
    const absl::StatusOr<Json> stored = api_->Create(kube::kPods, pod, kLongTimeout);
    ASSERT_TRUE(stored.ok()) << stored.status();
    pod_uid_ = kube::UidOf(*stored);
  }

  // Requests a token as kubelet does for a projected volume.
  std::string Token(const std::string& audience, bool bound = true) {
    Json request = {{"apiVersion", "authentication.k8s.io/v1"},
                    {"kind", "TokenRequest"},
                    {"spec", {{"audiences", {audience}}, {"expirationSeconds", 600}}}};
    if (bound) {
      request["spec"]["boundObjectRef"] = {
          {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "gpt-0-1"}, {"uid", pod_uid_}};
    }
    const absl::StatusOr<Json> answer = api_->CreateSubresource(
        kube::kServiceAccounts, {ns_, "worker"}, "token", request, kLongTimeout);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? kube::StringAt(*answer, {"status", "token"}) : "";
  }

  std::unique_ptr<tests::TestCluster> cluster_;
  kube::RestConfig config_;
  std::unique_ptr<kube::RestApi> api_;
  std::string ns_;
  std::string pod_uid_;
};

TEST_F(IdentityClusterTest, ATokenIsValidForItsAudienceAloneAndAsLongAsItsPod) {
  TokenReviewer reviewer(*api_);
  const std::string token = Token(kCoordinatorAudience);
  const auto pod = reviewer.Review(token);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->ns, ns_);
  EXPECT_EQ(pod->name, "gpt-0-1");
  EXPECT_EQ(pod->uid, pod_uid_);
  EXPECT_EQ(pod->service_account, "worker");

  const auto refusal = [&](const std::string& other) {
    return RefusalOf(reviewer.Review(other).status());
  };
  EXPECT_EQ(refusal(Token("muster.dev/other")), Refusal::kWrongAudience);
  EXPECT_EQ(refusal(Token(kCoordinatorAudience, /*bound=*/false)), Refusal::kUnboundToken);
  EXPECT_EQ(refusal(token.substr(0, token.size() - 8) + "AAAAAAAA"), Refusal::kTokenRejected);
  EXPECT_EQ(refusal("nonsense"), Refusal::kTokenRejected);

  // The token is useless at the API server itself.
  kube::RestConfig thief = config_;
  thief.client_certificate = {};
  thief.client_key = {};
  thief.token = token;
  const auto stolen = (*kube::RestApi::Create(thief))->Get(kube::kPods, {ns_, "gpt-0-1"});
  EXPECT_TRUE(absl::IsUnauthenticated(stolen.status())) << stolen.status();

  // The API server caches a valid token for some ten seconds.
  ASSERT_TRUE(
      api_->Delete(kube::kPods, {ns_, "gpt-0-1"}, {.grace_period_seconds = 0}, kLongTimeout).ok());
  const absl::Time deadline = absl::Now() + kPatience;
  const auto still_good = [&] {
    const absl::Status status = reviewer.Review(token).status();
    return status.ok() || RefusalOf(status) != Refusal::kTokenRejected;
  };
  while (still_good() && absl::Now() < deadline) poll(nullptr, 0, kLookMillis);
  EXPECT_EQ(refusal(token), Refusal::kTokenRejected);
}

TEST_F(IdentityClusterTest, ReplicasShareOneAuthorityAndSignForAPodsToken) {
  CoordinatorIdentityOptions options;
  options.operator_namespace = ns_;
  options.find_worker = [&](const ReviewedPod& pod) -> absl::StatusOr<PeerIdentity> {
    return PeerIdentity{pod.ns, "gpt", "job-uid", 0, 1, pod.name, pod.uid};
  };
  const auto first = CoordinatorIdentity::Create(*api_, Clock::Real(), options);
  const auto second = CoordinatorIdentity::Create(*api_, Clock::Real(), options);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*first)->authority_pem(), (*second)->authority_pem());

  v1alpha1::IdentifyRequest request;
  request.set_token(Token(kCoordinatorAudience));
  request.set_signing_request(*MakeSigningRequest(*PrivateKey::Generate(), "worker"));
  const auto response = (*second)->Identify(request, "test");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_THAT(ReadCertificate(response->certificate())->uris,
              ElementsAre(HasSubstr("/pod/gpt-0-1/" + pod_uid_)));
}

}  // namespace
}  // namespace muster::control
