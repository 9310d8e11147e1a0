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
  std::string path;  // without its query
  int status = 0;    // 0: it was cut before there was one
  std::string rule;  // the `name` of the rule that spoilt it
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

  // In place of all earlier rules. Requests that wait or stall stay as they are.
  absl::Status SetRules(const Json& rules);
  absl::StatusOr<std::vector<ProxiedRequest>> Log() const;

 private:
  ApiProxy() = default;

  std::unique_ptr<Process> process_;
  int stdin_ = -1;
  int control_port_ = 0;
  std::string kubeconfig_;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_API_PROXY_H_
