#ifndef MUSTER_TESTS_FAULTS_API_PROXY_H_
#define MUSTER_TESTS_FAULTS_API_PROXY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/process/process.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// A request that reached the proxy.
struct ProxiedRequest {
  std::string method;
  std::string path;
  std::string query;
  int status = 0;      // -1: not answered yet; 0: it ended without an answer
  std::string rule;    // the `name` of the rule that applied; empty: none
  double seconds = 0;  // when it arrived, since the proxy's start
};

// A proxy on loopback in front of a TestCluster's API server, which makes requests and answers
// faulty as its rules say; api_proxy.py documents the rules. It serves TLS with the API server's
// own certificate and sends requests on as the cluster's administrator. Not thread-safe.
class ApiProxy {
 public:
  static absl::StatusOr<std::unique_ptr<ApiProxy>> Start(const TestCluster& cluster);
  ~ApiProxy();
  ApiProxy(const ApiProxy&) = delete;
  ApiProxy& operator=(const ApiProxy&) = delete;

  // The administrator's kubeconfig, with the proxy's address in place of the server's.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // "https://127.0.0.1:port"
  const std::string& server() const { return server_; }

  // Replaces all rules. Requests that are being delayed, stalled or streamed are not affected.
  absl::Status SetRules(const Json& rules);
  // Closes every open connection.
  absl::Status CutAll();
  // New connections are served with this certificate and key (paths of PEM files).
  absl::Status ServeCertificate(const std::string& certificate, const std::string& key);
  // Every request so far, in the order of arrival.
  absl::StatusOr<std::vector<ProxiedRequest>> Log() const;

 private:
  ApiProxy() = default;
  absl::Status Tell(const std::string& path, const Json& body);

  std::unique_ptr<Process> process_;
  int stdin_ = -1;
  int control_port_ = 0;
  std::string server_;
  std::string kubeconfig_;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_API_PROXY_H_
