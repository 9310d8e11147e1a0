#ifndef MUSTER_TESTS_BENCH_SWARM_KUBELET_H_
#define MUSTER_TESTS_BENCH_SWARM_KUBELET_H_

#include <atomic>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::agent {

// Plays all kubelets of a namespace whose pods are simulated agents: creates nodes, marks each
// bound pod Running, and writes its token, bound to the pod, into `files`. Thread-safe. `api` and
// `files` must outlive this object.
class SwarmKubelet {
 public:
  // Everything needed to start a pod's agent.
  struct Started {
    v1alpha1::WorkerId worker;
    int ranks = 0;
    CoordinatorClientOptions coordinator;
  };

  SwarmKubelet(kube::Api& api, std::string name_space, Files& files, int threads);
  ~SwarmKubelet();

  // Creates `count` ready nodes with room for `pods` pods each.
  static absl::Status MakeNodes(kube::Api& api, int count, int pods);

  // Pods started since the last call.
  std::vector<Started> Take();
  // The newest failure; OK if there was none.
  absl::Status status() const;

 private:
  void Watch();
  absl::Status WatchOnce();
  void See(const Json& pod);
  void Serve();
  absl::StatusOr<Started> Start(Json pod);
  absl::StatusOr<std::string> MakeToken(const Json& pod);

  kube::Api& api_;
  const std::string name_space_;
  Files& files_;
  std::atomic<bool> stopping_{false};

  mutable Mutex mu_;
  CondVar changed_;
  std::set<std::string> seen_ MUSTER_GUARDED_BY(mu_);  // by uid
  std::deque<Json> bound_ MUSTER_GUARDED_BY(mu_);
  std::vector<Started> started_ MUSTER_GUARDED_BY(mu_);
  absl::Status status_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace muster::agent

#endif  // MUSTER_TESTS_BENCH_SWARM_KUBELET_H_
