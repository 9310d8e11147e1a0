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
#include "base/files/files.h"
#include "base/files/private_files.h"
#include "base/json.h"
#include "base/process/process.h"
#include "operator/kube/api.h"
#include "operator/local/node_keeper.h"
#include "operator/local/node_object.h"
#include "operator/local/pod_process.h"
#include "operator/placement/placement.h"

namespace muster::control {

struct LocalNodesOptions {
  std::vector<LocalNode> nodes;
  // Paths of the programs that `muster-agent` and `muster-trainer` in a container's command stand
  // for.
  std::string agent_path;
  std::string trainer_path;
  std::string state_dir;
  // Overrides this process's own environment; the pod's environment overrides it.
  std::map<std::string, std::string> env;
  NodeKeeperOptions keeper;
  // Pods are listed again this often, since a watch may miss changes while it is reopened.
  absl::Duration resync = absl::Seconds(2);
  // True on a server with pods of many namespaces that come and go: a pod's folder is
  // pods/NAMESPACE_POD_UID and is removed with the pod. If false, it is pods/POD and is kept for
  // its logs.
  bool shared_server = false;
};

// A kubelet without containers, for a machine without a cluster and for tests on a real API server.
// It registers Nodes, renews their Leases, and runs the `worker` container of every pod bound to
// one of them as a real process, in its own session that outlives this process. Volumes are folders
// of the pod (see pod_volumes.h). A pod that does not fit is rejected with a kubelet's reasons.
//
// Level-triggered: every pass compares the pods of its nodes with the running processes and acts on
// the difference, so a lost event does no harm. Durable state is in the files of
// state_dir/pods/<pod>/ (see PodProcess): after a restart, running processes are adopted, and those
// that ended meanwhile are reported with the exit code that they recorded.
//
// Not thread-safe.
class LocalNodes {
 public:
  // `api`, `launcher` and `clock` must outlive it.
  LocalNodes(LocalNodesOptions options, kube::Api& api, ProcessLauncher& launcher,
             const Clock& clock);
  ~LocalNodes();  // leaves the processes running; StopAll ends them

  // Creates the Nodes and adopts the processes of an earlier run. Must be called once, before
  // RunOnce.
  absl::Status Register();

  // Makes one pass: renew, start, watch, stop, report. Waits at most `wait` for a process to end or
  // a pod to change. Errors of the API are returned after all other work is done, and the API is
  // retried ever more slowly while it fails; call RunOnce again.
  absl::Status RunOnce(absl::Duration wait);

  // Ends every process: SIGTERM, then after `grace` SIGKILL to it and to all its descendants. None
  // is left when it returns, and none is started afterwards. Safe to call when RunOnce fails.
  void StopAll(absl::Duration grace);

  // Returns the running processes, by "namespace/pod".
  std::map<std::string, pid_t> running() const;

 private:
  struct Node {
    NodeKeeper keeper;
    std::unique_ptr<kube::Watcher> watcher;
    Resources used;  // by pods that have not ended, in this pass
  };
  struct Pod {
    std::unique_ptr<PodProcess> process;
    // When its volumes must be renewed (Monotonic).
    absl::Time renew_at = absl::InfinitePast();
  };

  void RecoverProcesses();
  absl::Status KeepNodes();
  void Wait(absl::Duration wait);
  bool PodsChanged(absl::Duration wait);
  bool PodsChanged(Node& node, absl::Duration wait);
  bool ProcessEnded() const;
  bool IsListDue() const;
  absl::Status SyncAll();
  absl::Status Sync(Node& node, const Json& pod);
  absl::Status StartPod(Node& node, const Json& pod);
  absl::StatusOr<std::map<std::string, std::string>> RenewVolumes(const Json& pod,
                                                                  absl::Time& renew_at);
  std::unique_ptr<PodProcess> Launch(const Node& node, const Json& pod,
                                     const std::map<std::string, std::string>& mounts);
  std::vector<std::string> FreeGpus(const Node& node, int64_t wanted) const;
  absl::Status Report(const Json& pod, Json status);
  absl::Status FinishDeletion(const Json& pod);
  void EndUnwanted(const std::set<std::string>& wanted_uids);
  void Note(const absl::Status& status);
  std::string FolderOf(const Json& pod) const;
  PodProcess::Context context() const { return {PrivateFileSystem(), launcher_, clock_}; }

  const LocalNodesOptions options_;
  kube::Api& api_;
  ProcessLauncher& launcher_;
  const Clock& clock_;
  std::vector<Node> nodes_;
  bool dirty_ = true;  // pods may have changed since the last list
  // The latest time of the next list, and the earliest after errors (Monotonic).
  absl::Time next_list_ = absl::InfinitePast();
  absl::Time not_before_ = absl::InfinitePast();
  absl::Duration pause_;
  bool stopped_ = false;
  std::map<std::string, Pod> pods_;  // by UID; with a process, running or ended
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_
