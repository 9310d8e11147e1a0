#ifndef MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_
#define MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "operator/kube/api.h"
#include "operator/local/pod_process.h"

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
  // What the programs `muster-agent` and `muster-trainer` of a container's command are here.
  std::string agent_path;
  std::string trainer_path;
  std::string state_dir;
  // Over this process's own environment, under the pod's.
  std::map<std::string, std::string> env;
};

// The stand-in for kubelet on a machine without a cluster: it registers Node objects, and runs the
// `worker` container of every pod bound to one of them as a real process, in a session of its own
// that outlives this one.
//
// Level-triggered: every pass compares the pods of its nodes with the processes it knows and acts
// on the difference, so a lost event costs nothing. What must not be forgotten lies in files,
// state_dir/pods/<pod>/ (see PodProcess): after a restart running processes are adopted, and those
// that ended meanwhile are reported with the exit code they left behind.
//
// Not thread-safe: one thread at a time.
class LocalNodes {
 public:
  // `api`, `launcher` and `clock` must outlive it.
  LocalNodes(LocalNodesOptions options, kube::Api& api, ProcessLauncher& launcher,
             const Clock& clock);
  ~LocalNodes();  // leaves the processes running: StopAll ends them

  // Creates the Node objects and finds the processes of an earlier one. Once, before RunOnce.
  absl::Status Register();

  // One pass: start, watch, stop, report. Waits at most `wait` for a process to end or a pod to
  // change. Errors of the API are returned after everything else was done; call again.
  absl::Status RunOnce(absl::Duration wait);

  // Ends every process: SIGTERM, then after `grace` SIGKILL to it and all its descendants. When it
  // returns none is left. Safe to call when RunOnce fails. Nothing is started afterwards.
  void StopAll(absl::Duration grace);

  // Running processes, by "namespace/pod".
  std::map<std::string, pid_t> running() const;

 private:
  absl::Status RegisterNode(const LocalNode& node);
  void RecoverProcesses();
  void Wait(absl::Duration wait);
  bool PodsChanged(absl::Duration wait);
  bool ProcessEnded() const;
  absl::StatusOr<std::vector<Json>> ListPods();
  absl::Status Sync(const Json& pod);
  absl::Status Report(const Json& pod, const PodProcess& process);
  absl::Status FinishDeletion(const Json& pod);
  std::unique_ptr<PodProcess> Start(const Json& pod);
  void EndUnwanted(const std::set<std::string>& wanted_uids);
  PodProcess::Context context() const { return {FileSystem(), launcher_, clock_}; }

  const LocalNodesOptions options_;
  kube::Api& api_;
  ProcessLauncher& launcher_;
  const Clock& clock_;
  std::unique_ptr<kube::Watcher> watcher_;
  bool dirty_ = true;  // something may have changed since the last list
  absl::Time next_list_ = absl::InfinitePast();
  bool stopped_ = false;
  std::map<std::string, std::unique_ptr<PodProcess>> processes_;  // by pod UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_
