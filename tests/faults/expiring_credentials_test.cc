#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/tls/x509.h"
#include "operator/kube/http/tls_test_server.h"
#include "operator/kube/resource_type.h"
#include "tests/faults/faulty_api_world.h"

// Tests credentials of the operator and the API server that expire while the operator works, and an
// API server that is unreachable.

namespace muster::tests {
namespace {

class ExpiringCredentials : public testing::Test {
 protected:
  void SetUp() override { world_ = FaultyApiWorld::Create().value(); }
  void TearDown() override {
    if (HasFailure()) ADD_FAILURE() << world_->OperatorLog();
  }
  // A lease long enough to outlive the fault even on a busy machine; the timeout of writes is about
  // the same as with a short lease.
  const std::vector<std::string> kLongLease = {"--lease-duration=302s", "--renew-deadline=300s"};

  std::string Text(const std::string& path) { return ReadFile(FileSystem(), path).value(); }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(world_->folder(), "/", name);
    EXPECT_EQ(WriteFileAtomically(FileSystem(), path, text), absl::OkStatus());
    return path;
  }
  std::string Pki() {
    return std::filesystem::path(world_->cluster().ca_file()).parent_path().string();
  }
  // Writes a kubeconfig for `server`, with the user's credentials given as YAML.
  std::string Kubeconfig(const std::string& server, const std::string& user) {
    return Write("kubeconfig",
                 absl::StrCat("apiVersion: v1\nkind: Config\nclusters: [{name: c, "
                              "cluster: {server: \"",
                              server, "\", certificate-authority: ", world_->cluster().ca_file(),
                              "}}]\nusers: [{name: u, user: {", user,
                              "}}]\ncontexts: [{name: x, context: {cluster: c, user: "
                              "u}}]\ncurrent-context: x\n"));
  }
  // Writes a client certificate signed by the cluster's authority, with its key, for a user with
  // all rights.
  void IssueClient(absl::Duration lifetime) {
    const std::string user = world_->cluster().Unique("expiring");
    const Issuer issuer{Text(Pki() + "/ca.crt"),
                        PrivateKey::FromPem(Text(Pki() + "/ca.key")).value()};
    const PrivateKey key = PrivateKey::Generate().value();
    CertificateProfile profile;
    profile.common_name = user;
    profile.not_before = absl::Now() - absl::Minutes(1);
    profile.not_after = absl::Now() + lifetime;
    Write("client.key", key.ToPem());
    Write("client.crt", SignKey(issuer, key, profile).value());
    (void)world_->cluster().Kubectl(
        {"create", "clusterrolebinding", user, "--clusterrole=cluster-admin", "--user=" + user});
    bindings_.push_back(user);
  }
  ~ExpiringCredentials() override {
    for (const std::string& name : bindings_) {
      (void)world_->cluster().Kubectl({"delete", "clusterrolebinding", name, "--wait=false"});
    }
  }

  std::unique_ptr<FaultyApiWorld> world_;
  std::vector<std::string> bindings_;
};

// Connects to the real server directly, which checks the certificate at every request.
TEST_F(ExpiringCredentials, AClientCertificateThatRunsOutIsReadAgainWhenItIsReplaced) {
  IssueClient(absl::Seconds(40));  // long enough for the operator to become leader
  const std::string config =
      Kubeconfig(world_->cluster().server(),
                 absl::StrCat("client-certificate: ", world_->folder(),
                              "/client.crt, client-key: ", world_->folder(), "/client.key"));
  ASSERT_EQ(world_->StartOperator(kLongLease, config), absl::OkStatus());
  const auto refused = [&] {
    return absl::StrContains(world_->OperatorLog(), "UNAUTHENTICATED") ||
           world_->Metric("muster_api_requests_total", "401") > 0;
  };
  ASSERT_EQ(world_->WaitFor("the certificate is refused", refused), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  IssueClient(absl::Hours(1));
  ASSERT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
  EXPECT_TRUE(world_->OperatorIsRunning());
}

TEST_F(ExpiringCredentials, ATokenThatRunsOutIsReadAgainWhenItIsReplaced) {
  const std::string token = Write("token", "first");
  ASSERT_EQ(world_->StartOperator(kLongLease, Kubeconfig(world_->proxy().server(),
                                                         absl::StrCat("tokenFile: ", token))),
            absl::OkStatus());
  ASSERT_EQ(world_->InjectFaults(R"([{"name": "fault", "unless_header": ["Authorization", "second"],
      "status": 401, "body": {"kind": "Status", "apiVersion": "v1", "status": "Failure",
      "reason": "Unauthorized", "message": "Unauthorized", "code": 401}}])"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitForLog("Unauthorized"), absl::OkStatus());
  ASSERT_EQ(world_->WaitFor("it was tried a few times",
                            [&] { return world_->Requests("fault").size() > 8; }),
            absl::OkStatus());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
  Write("token", "second");
  ASSERT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
  EXPECT_TRUE(world_->OperatorIsRunning());
}

TEST_F(ExpiringCredentials, AServersCertificateThatRanOutIsRefusedUntilItIsReplaced) {
  ASSERT_EQ(world_->StartOperator(kLongLease), absl::OkStatus());
  const kube::TestCertificate authority{Text(Pki() + "/ca.crt"), Text(Pki() + "/ca.key")};
  const kube::TestCertificate old =
      kube::MakeTestCertificate(&authority, "IP:127.0.0.1", -absl::Seconds(60));
  ASSERT_EQ(world_->proxy().ServeCertificate(Write("old.crt", old.certificate),
                                             Write("old.key", old.key)),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitForLog(absl::StrCat(world_->proxy().server(),
                                            ": its certificate is refused: certificate has "
                                            "expired")),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().ServeCertificate(Pki() + "/kube-apiserver.crt",
                                             Pki() + "/kube-apiserver.key"),
            absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
  EXPECT_TRUE(world_->OperatorIsRunning());
}

// A leader without a lease must not write: it exits, logs the reason, and relies on being
// restarted.
TEST_F(ExpiringCredentials, ALeaderThatCannotRenewItsLeaseEndsAndSaysWhy) {
  const std::vector<std::string> flags = {"--lease-duration=17s", "--renew-deadline=15s"};
  ASSERT_EQ(world_->StartOperator(flags), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
  ASSERT_EQ(world_->InjectFaults(R"([{"name": "fault", "method": "PUT", "path": "/leases/",
      "status": 409, "body": {"kind": "Status", "apiVersion": "v1", "status": "Failure",
      "reason": "Conflict", "message": "the lease has been modified", "code": 409}}])"),
            absl::OkStatus());
  ASSERT_EQ(world_->WaitForLog("lease not renewed"), absl::OkStatus());
  const auto end = world_->WaitForOperatorEnd();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->code, kExitRefused);
  EXPECT_TRUE(absl::StrContains(
      world_->OperatorLog(),
      "the lease was lost: the lease could not be renewed: the lease has been modified"));
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);

  // A candidate waits and logs what it waits for.
  ASSERT_EQ(world_->LaunchOperator(flags), absl::OkStatus());
  ASSERT_EQ(world_->WaitForLog("lease not acquired"), absl::OkStatus());
  EXPECT_TRUE(world_->OperatorIsRunning());
  ASSERT_EQ(world_->ClearFaults(), absl::OkStatus());
  EXPECT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
}

// The Secret is in the given namespace even without an election: no other namespace need exist or
// be readable.
TEST_F(ExpiringCredentials, TheAuthorityOfALoneOperatorIsInTheGivenNamespace) {
  ASSERT_EQ(world_->StartOperator({"--leader-elect=false"}), absl::OkStatus());
  EXPECT_TRUE(world_->cluster().Get(kube::kSecrets, "muster-coordinator-ca").ok());
}

TEST_F(ExpiringCredentials, AServerThatGoesAwayIsNamedAndAwaited) {
  ASSERT_EQ(world_->StartOperator(kLongLease), absl::OkStatus());
  ASSERT_EQ(world_->InjectFaults(R"([{"name": "fault", "reset": true}])"), absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob("job", 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitForLog(world_->proxy().server() + ": "), absl::OkStatus());
  ASSERT_EQ(world_->WaitFor("it was tried a few times",
                            [&] { return world_->Requests("fault").size() > 8; }),
            absl::OkStatus());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
  ASSERT_EQ(world_->ClearFaults(), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed("job", 2), absl::OkStatus());
  EXPECT_TRUE(world_->OperatorIsRunning());
}

}  // namespace
}  // namespace muster::tests
