#ifndef MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_
#define MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/process.h"
#include "operator/kube/api.h"

// The stand-in for kubelet on a machine without a cluster: it registers Node objects, and runs the
// `worker` container of every pod bound to one of them as a real process.
//
// Level-triggered: each RunOnce lists the pods of its nodes, compares them with the processes it
// knows and acts on the difference, so a lost event costs nothing. What it must not forget lies in
// files: state_dir/pods/<pod>/{process.json, exit.json, logs/}. After a restart it adopts running
// processes (pid and start time must match) and reads the exit code of those that ended meanwhile
// from exit.json, which the process itself writes (MUSTER_EXIT_FILE).
//
// Not thread-safe: one thread, which must live as long as the object, calls RunOnce in a loop.

namespace muster::control {

struct LocalNode {
  std::string name;
  int gpus = 0;   // nvidia.com/gpu
  int cpus = 64;  // declared, not enforced: this machine's cores are shared
  int64_t memory_bytes = int64_t{256} << 30;
  int pods = 110;
};

struct LocalNodesOptions {
  std::vector<LocalNode> nodes;
  // A container command whose program is named `muster-agent` or `muster-trainer` runs these.
  std::string agent_path;
  std::string trainer_path;
  std::string state_dir;
  // Added to every pod's environment (NAME -> value) before the pod's own; PATH and HOME of this
  // process are there already.
  std::map<std::string, std::string> env;
};

class LocalNodes {
 public:
  // `api`, `launcher` and `clock` must outlive it.
  LocalNodes(LocalNodesOptions options, kube::Api& api, ProcessLauncher& launcher,
             const Clock& clock);
  ~LocalNodes();  // leaves the processes running: StopAll ends them

  // Creates or updates the Node objects. To be called once, before RunOnce.
  absl::Status Register();

  // One pass: start, watch, stop, report. Waits at most `wait` for a process to end or a pod to
  // change. Errors of the API are returned after everything else was done; call again.
  absl::Status RunOnce(absl::Duration wait);

  // Ends every process: SIGTERM, then after `grace` SIGKILL to whatever is left of its session.
  // When it returns none is left. Safe to call when RunOnce fails.
  void StopAll(absl::Duration grace);

  // Running processes, by "namespace/pod".
  std::map<std::string, pid_t> running() const;

 private:
  class PodProcess;
  struct Listed;

  absl::StatusOr<std::vector<Json>> ListPods();
  void Wait(absl::Duration wait);
  absl::Status Reconcile(const std::vector<Json>& pods);

  const LocalNodesOptions options_;
  kube::Api& api_;
  ProcessLauncher& launcher_;
  const Clock& clock_;
  std::unique_ptr<kube::Watcher> watcher_;
  std::map<std::string, std::unique_ptr<PodProcess>> processes_;  // by pod UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_
