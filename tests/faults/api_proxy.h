#ifndef MUSTER_TESTS_FAULTS_API_PROXY_H_
#define MUSTER_TESTS_FAULTS_API_PROXY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/process.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// A request that the proxy saw.
struct ProxiedRequest {
  std::string method;
  std::string path;
  std::string query;
  int status = 0;      // -1: not answered yet; 0: it ended without an answer
  std::string rule;    // the `name` of the rule that spoilt it
  double seconds = 0;  // when it came, since the proxy's start

  bool IsWatch() const { return query.find("watch=") != std::string::npos; }
};

// A proxy on loopback before a TestCluster's API server, which spoils what its rules say:
// api_proxy.py tells what a rule can do. It speaks TLS with the server's own certificate, and asks
// the server as its administrator. One thread.
class ApiProxy {
 public:
  static absl::StatusOr<std::unique_ptr<ApiProxy>> Start(const TestCluster& cluster);
  ~ApiProxy();
  ApiProxy(const ApiProxy&) = delete;
  ApiProxy& operator=(const ApiProxy&) = delete;

  // The administrator's kubeconfig, but for the proxy.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // "https://127.0.0.1:port"
  const std::string& server() const { return server_; }

  // In place of all earlier rules. Requests that wait, stall or are streams stay as they are.
  absl::Status SetRules(const Json& rules);
  // Every connection that is open ends.
  absl::Status CutAll();
  // PEM files: what new connections are shown.
  absl::Status ServeCertificate(const std::string& certificate, const std::string& key);
  // In the order they came.
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
