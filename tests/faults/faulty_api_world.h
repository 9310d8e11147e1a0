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
#include "base/process.h"
#include "operator/kube/resource_type.h"
#include "tests/faults/api_proxy.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// A real control plane, an ApiProxy before it, and a muster-operator process that knows only the
// proxy; its jobs, lease and secrets are in the test's namespace. What kubectl does here goes past
// the proxy. Each job has a node that only its pods fit, without a kubelet: they are bound and no
// more. What it made is gone when it is destroyed. One thread.
class SpoiltWorld {
 public:
  static absl::StatusOr<std::unique_ptr<SpoiltWorld>> Create();
  ~SpoiltWorld();
  SpoiltWorld(const SpoiltWorld&) = delete;
  SpoiltWorld& operator=(const SpoiltWorld&) = delete;

  TestCluster& cluster() { return *cluster_; }
  ApiProxy& proxy() { return *proxy_; }
  const std::string& folder() const { return folder_; }

  // Returns at once. `kubeconfig` empty: the proxy's.
  absl::Status LaunchOperator(const std::vector<std::string>& more_flags = {},
                              const std::string& kubeconfig = "");
  // And waits until it leads.
  absl::Status StartOperator(const std::vector<std::string>& more_flags = {},
                             const std::string& kubeconfig = "");
  bool OperatorIsRunning() { return operator_ != nullptr && !OperatorEnd().has_value(); }
  // Its exit when it has ended.
  std::optional<ExitStatus> OperatorEnd();
  absl::StatusOr<ExitStatus> WaitForOperatorEnd();
  // All that the operators of this world wrote.
  std::string OperatorLog() const;
  // The sum of a metric's series whose line contains `labels`; 0 when there is none.
  double Metric(const std::string& name, const std::string& labels = "") const;

  // From now on; an empty list mends everything.
  absl::Status Spoil(const std::string& rules);
  absl::Status Mend() { return Spoil("[]"); }
  // What was asked since the last Spoil; with `rule`, only what that rule spoilt.
  std::vector<ProxiedRequest> Requests(const std::string& rule = "") const;
  // The most requests within any second since the last Spoil.
  int BusiestSecond() const;
  // What it may be when everything breaks at once: a dozen watches that each end, are opened again,
  // listed and tried once more, the lease, and what backs off. A loop without a pause makes
  // hundreds.
  static constexpr int kCalm = 60;

  // `more` are further lines of the spec; `env` of the worker, as YAML.
  absl::Status ApplyJob(const std::string& name, int workers, const std::string& more = "",
                        const std::string& env = "[]");
  // The operator lets it go, with its pods.
  absl::Status RemoveJob(const std::string& name);
  // The newest job is served: its pods are all bound, each index has one, none was made twice or
  // lost, and the status says so.
  absl::Status WaitUntilServed(const std::string& name, int workers);
  absl::Status WaitForLog(const std::string& text);
  absl::Status WaitForEvent(const std::string& reason, const std::string& text);
  absl::Status WaitFor(const std::string& what, const std::function<bool()>& done);
  std::vector<Json> Pods(const std::string& job);
  // "Status/Reason: message" of a job's condition.
  std::string Condition(const std::string& job, const std::string& type);

 private:
  SpoiltWorld() = default;
  absl::Status MakeNode(const std::string& name);
  // None when the server does not answer.
  std::vector<Json> Listed(const kube::ResourceType& type, const std::string& selector = "");
  void EndPod(const Json& pod);  // there is no kubelet that would
  std::string NodeOf(const std::string& job) const;
  bool IsServed(const std::string& name, int workers, std::string& why);

  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<ApiProxy> proxy_;
  std::unique_ptr<Process> operator_;
  std::string folder_;
  std::string socket_folder_;  // a socket's path is short
  std::set<std::string> nodes_;
  size_t spoilt_from_ = 0;  // in the proxy's log
  size_t applied_at_ = 0;   // the newest job, likewise
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_FAULTY_API_WORLD_H_
