#ifndef MUSTER_OPERATOR_KUBE_REST_REST_API_FIXTURE_H_
#define MUSTER_OPERATOR_KUBE_REST_REST_API_FIXTURE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "operator/kube/http/tls_test_server.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/rest/rest_api.h"

// A RestApi and a TLS server that a test scripts.
namespace muster::kube {

inline constexpr char kPod[] =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"}})";
inline const ObjectKey kKey{"ns", "a"};

inline std::string StatusBody(int code, const std::string& reason, const std::string& message) {
  return absl::StrCat(R"({"kind":"Status","code":)", code, R"(,"reason":")", reason,
                      R"(","message":")", message, R"("})");
}

class Requests final : public RequestObserver {
 public:
  void Finished(std::string_view verb, std::string_view resource, int code,
                absl::Duration) override {
    MutexLock lock(mu_);
    lines_.push_back(absl::StrCat(std::string(verb), " ", std::string(resource), " ", code));
  }
  void Throttled(absl::Duration) override { ++throttled_; }
  std::vector<std::string> lines() {
    MutexLock lock(mu_);
    return lines_;
  }
  int throttled() const { return throttled_; }

 private:
  Mutex mu_;
  std::vector<std::string> lines_ MUSTER_GUARDED_BY(mu_);
  std::atomic<int> throttled_{0};
};

class RestApiTest : public testing::Test {
 protected:
  using Peer = TlsTestServer::Peer;

  // Starts the server and connects a client to it.
  void Start(TlsTestServer::Handler handler) {
    server_.emplace(certificate_, std::move(handler));
    config_.server = server_->Url();
    config_.ca.pem = authority_.certificate;
    Connect();
  }
  void Connect() {
    auto api = RestApi::Create(config_, &requests_);
    ASSERT_TRUE(api.ok()) << api.status();
    api_ = *std::move(api);
  }
  absl::Status GetStatus(const CallOptions& call = {}) {
    return api_->Get(kPods, kKey, call).status();
  }
  // Starts a server that answers every call with the same raw text.
  void StartRaw(const std::string& answer) {
    Start([answer](const std::string&, Peer& peer) {
      peer.Write(answer);
      return false;
    });
  }

  const TestCertificate authority_ = MakeTestCertificate(nullptr, "");
  TestCertificate certificate_ = MakeTestCertificate(&authority_, "IP:127.0.0.1,DNS:api.test");
  RestConfig config_;
  Requests requests_;
  std::optional<TlsTestServer> server_;
  std::unique_ptr<RestApi> api_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_REST_API_FIXTURE_H_
