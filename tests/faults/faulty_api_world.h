#ifndef MUSTER_TESTS_FAULTS_FAULTY_API_WORLD_H_
#define MUSTER_TESTS_FAULTS_FAULTY_API_WORLD_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/process/process.h"
#include "operator/kube/resource_type.h"
#include "tests/faults/api_proxy.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// A real control plane, an ApiProxy in front of it, and a muster-operator process that reaches the
// API server only through the proxy; its jobs, lease and secrets are in the test's namespace. The
// calls made here bypass the proxy. Each job has a node of its own that only its pods fit and that
// has no kubelet, so pods are bound but never run. The destructor removes everything that was
// created. Not thread-safe.
class FaultyApiWorld {
 public:
  static absl::StatusOr<std::unique_ptr<FaultyApiWorld>> Create();
  ~FaultyApiWorld();
  FaultyApiWorld(const FaultyApiWorld&) = delete;
  FaultyApiWorld& operator=(const FaultyApiWorld&) = delete;

  TestCluster& cluster() { return *cluster_; }
  ApiProxy& proxy() { return *proxy_; }
  const std::string& folder() const { return folder_; }

  // Starts the operator and returns at once. An empty `kubeconfig` stands for the proxy's.
  absl::Status LaunchOperator(const std::vector<std::string>& more_flags = {},
                              const std::string& kubeconfig = "");
  // Launches the operator and waits until it leads.
  absl::Status StartOperator(const std::vector<std::string>& more_flags = {},
                             const std::string& kubeconfig = "");
  bool OperatorIsRunning() { return operator_ != nullptr && !OperatorEnd().has_value(); }
  // The operator's exit status, or nullopt while it runs.
  std::optional<ExitStatus> OperatorEnd();
  absl::StatusOr<ExitStatus> WaitForOperatorEnd();
  // The logs of all operators that this object has started.
  std::string OperatorLog() const;
  // The sum of a metric's series whose line contains `labels`; 0 without such a line.
  double Metric(const std::string& name, const std::string& labels = "") const;

  // Replaces the proxy's rules (a JSON list); an empty list removes all faults.
  absl::Status InjectFaults(const std::string& rules);
  absl::Status ClearFaults() { return InjectFaults("[]"); }
  // The requests since the last InjectFaults(), or only those that `rule` was applied to.
  std::vector<ProxiedRequest> Requests(const std::string& rule = "") const;
  // The most requests within any second since the last InjectFaults().
  int MostRequestsInASecond() const;
  // The bound for MostRequestsInASecond() when everything fails at once: a dozen watches that each
  // end, reopen, list and retry, the lease, and requests in back-off. A loop without a pause makes
  // hundreds.
  static constexpr int kMaxRequestsPerSecond = 60;

  // `more` holds further lines of the spec, `env` the worker's environment as a YAML list.
  absl::Status ApplyJob(const std::string& name, int workers, const std::string& more = "",
                        const std::string& env = "[]");
  // Deletes the job and waits until the operator has released it and its pods are gone.
  absl::Status RemoveJob(const std::string& name);
  // Waits until the newest job is served: every index has exactly one pod, all are bound, none was
  // created twice or lost, and the status agrees.
  absl::Status WaitUntilServed(const std::string& name, int workers);
  absl::Status WaitForLog(const std::string& text);
  absl::Status WaitForEvent(const std::string& reason, const std::string& text);
  absl::Status WaitFor(const std::string& what, const std::function<bool()>& done);
  std::vector<Json> Pods(const std::string& job);
  // "Status/Reason: message" of a job's condition.
  std::string Condition(const std::string& job, const std::string& type);

 private:
  FaultyApiWorld() = default;
  absl::Status MakeNode(const std::string& name);
  // Returns an empty list if the server does not answer.
  std::vector<Json> Listed(const kube::ResourceType& type, const std::string& selector = "");
  void EndPod(const Json& pod);  // in place of the missing kubelet
  std::string NodeOf(const std::string& job) const;
  bool IsServed(const std::string& name, int workers, std::string& why);

  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<ApiProxy> proxy_;
  std::unique_ptr<Process> operator_;
  std::string folder_;
  std::string socket_folder_;  // the path of a unix socket is limited to some 100 bytes
  std::set<std::string> nodes_;
  size_t faults_from_ = 0;  // index into the proxy's log at the last InjectFaults()
  size_t applied_at_ = 0;   // the same, when the newest job was applied
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_FAULTY_API_WORLD_H_
