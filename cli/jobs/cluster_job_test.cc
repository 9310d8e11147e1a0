#include "cli/jobs/cluster_job.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "cli/commands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/http/tls_test_server.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

// An API server with one job, which records its requests.
class ClusterJobTest : public ::testing::Test {
 protected:
  ClusterJobTest() {
    const std::string folder = testing::TempDir();
    const std::string ca = folder + "/ca.pem";
    kubeconfig_ = folder + "/kubeconfig";
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), ca, authority_.certificate).ok());
    EXPECT_TRUE(
        WriteFileAtomically(FileSystem(), kubeconfig_,
                            absl::StrCat("apiVersion: v1\nkind: Config\ncurrent-context: x\n"
                                         "clusters: [{name: c, cluster: {server: \"",
                                         server_.Url(), "\", certificate-authority: ", ca,
                                         "}}]\nusers: [{name: u, user: {token: the-callers}}]\n"
                                         "contexts: [{name: x, context: {cluster: c, user: u, "
                                         "namespace: team}}]\n"))
            .ok());
  }

  bool Answer(const std::string& request, kube::TlsTestServer::Peer& peer) {
    MutexLock lock(mu_);
    requests_.push_back(request);
    if (absl::StartsWith(request, "PUT ") && forbidden_) {
      return peer.Answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden",
          "message":"u may not update trainingjobs"})");
    }
    if (absl::StartsWith(request, "PUT ")) {
      return peer.Answer(200, request.substr(request.find("\r\n\r\n") + 4));
    }
    return peer.Answer(200, absl::StrCat(R"({"apiVersion": "muster.dev/v1alpha1",
        "kind": "TrainingJob", "metadata": {"name": "gpt", "namespace": "team", "uid": "1",
        "resourceVersion": "7"}, "spec": )",
                                         spec_, R"(, "status": {"state": ")", state_, "\"}}"));
  }
  std::vector<std::string> requests() {
    MutexLock lock(mu_);
    return requests_;
  }

  Mutex mu_;
  std::vector<std::string> requests_ MUSTER_GUARDED_BY(mu_);
  bool forbidden_ = false;
  std::string state_ = "Training";
  std::string spec_ = R"({"workers": {"count": 2}})";
  const kube::TestCertificate authority_ = kube::MakeTestCertificate(nullptr, "");
  kube::TlsTestServer server_{
      kube::MakeTestCertificate(&authority_, "IP:127.0.0.1"),
      [this](const std::string& request, auto& peer) { return Answer(request, peer); }};
  std::string kubeconfig_;
};

TEST_F(ClusterJobTest, StopAndResumeAreTheCallersOwnWritesOfTheJob) {
  EXPECT_EQ(StopMain({"gpt", "--kubeconfig", kubeconfig_}), kExitOk);
  EXPECT_EQ(ResumeMain({"gpt", "--kubeconfig", kubeconfig_, "--namespace=other"}), kExitOk);
  std::vector<std::string> writes;
  for (const std::string& request : requests()) {
    EXPECT_THAT(request, HasSubstr("Authorization: Bearer the-callers\r\n"));
    if (absl::StartsWith(request, "PUT ")) writes.push_back(request);
  }
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_THAT(writes[0], HasSubstr("/namespaces/team/trainingjobs/gpt"));
  EXPECT_THAT(writes[0], HasSubstr("\"suspend\":true"));
  EXPECT_THAT(writes[0], HasSubstr("\"resourceVersion\":\"7\""));
  EXPECT_THAT(writes[1], HasSubstr("\"suspend\":false"));
}

TEST_F(ClusterJobTest, TuneIsTheCallersOwnWriteInTheNameOfItsUser) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(TuneMain({"gpt", "learningRate=1e-4", "--kubeconfig", kubeconfig_}), kExitBadInput);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a command of its own"));
  for (const std::string& request : requests()) EXPECT_FALSE(absl::StartsWith(request, "PUT "));
  spec_ = R"({"workers": {"count": 2}, "trainer": {"model": {"preset": "gpt2-nano"},
      "data": {"uri": "/data/t"}, "train": {"steps": 100}}, "checkpoint": {"uri": "/out"}})";
  EXPECT_EQ(TuneMain({"gpt", "learningRate=1e-4", "--kubeconfig", kubeconfig_}), kExitOk);
  const std::string write = requests().back();
  EXPECT_TRUE(absl::StartsWith(write, "PUT ")) << write;
  EXPECT_THAT(write, HasSubstr("Authorization: Bearer the-callers\r\n"));
  EXPECT_THAT(write, HasSubstr("\"resourceVersion\":\"7\""));
  EXPECT_THAT(write, HasSubstr(R"("tunings":[{"by":"u","learningRate":0.0001}])"));
}

TEST_F(ClusterJobTest, WithoutTheRightItIsRefused) {
  forbidden_ = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(StopMain({"gpt", "--kubeconfig", kubeconfig_}), kExitFailed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("may not update trainingjobs"));
}

TEST_F(ClusterJobTest, OneJobMustBeNamed) {
  EXPECT_EQ(StopMain({"--kubeconfig", kubeconfig_}), kExitBadInput);
  EXPECT_TRUE(requests().empty());
}

}  // namespace
}  // namespace muster::cli
