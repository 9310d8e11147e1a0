#ifndef MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_
#define MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_

#include <sys/types.h>

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
#include "base/private_files.h"
#include "base/process.h"
#include "operator/kube/api.h"
#include "operator/local/node_keeper.h"
#include "operator/local/node_object.h"
#include "operator/local/pod_process.h"
#include "operator/placement/placement.h"

namespace muster::control {

struct LocalNodesOptions {
  std::vector<LocalNode> nodes;
  // What the programs `muster-agent` and `muster-trainer` of a container's command are here.
  std::string agent_path;
  std::string trainer_path;
  std::string state_dir;
  // Over this process's own environment, under the pod's.
  std::map<std::string, std::string> env;
  // Renewal of the nodes' leases.
  NodeKeeperOptions keeper;
  // A watch may miss what happened while it was reopened: list again this often.
  absl::Duration resync = absl::Seconds(2);
  // Pods of many namespaces come and go: their folders are pods/NAMESPACE_POD_UID, and are
  // removed with their pods. Else pods/POD, kept for whoever wants to read the logs.
  bool shared_server = false;
};

// A kubelet without containers, for a machine without a cluster and for tests on a real API server.
// It registers Nodes and renews their Leases, and runs the `worker` container of every pod bound to
// one of them as a real process, in a session of its own that outlives this one. Volumes are
// folders of the pod (see pod_volumes.h); a pod that does not fit is refused in a kubelet's words.
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

  // Makes the Nodes and finds the processes of an earlier one. Once, before RunOnce.
  absl::Status Register();

  // One pass: renew, start, watch, stop, report. Waits at most `wait` for a process to end or a pod
  // to change. Errors of the API are returned after everything else was done; call again: it is
  // asked ever more slowly while it fails.
  absl::Status RunOnce(absl::Duration wait);

  // Ends every process: SIGTERM, then after `grace` SIGKILL to it and all its descendants. When it
  // returns none is left. Safe to call when RunOnce fails. Nothing is started afterwards.
  void StopAll(absl::Duration grace);

  // Running processes, by "namespace/pod".
  std::map<std::string, pid_t> running() const;

 private:
  struct Node {
    NodeKeeper keeper;
    std::unique_ptr<kube::Watcher> watcher;
    Resources used;  // by pods that have not ended; of the current pass
  };
  struct Pod {
    std::unique_ptr<PodProcess> process;
    // Monotonic: when its volumes are to be made again.
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
  std::unique_ptr<PodProcess> Launch(const Json& pod,
                                     const std::map<std::string, std::string>& mounts);
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
  bool dirty_ = true;  // something may have changed since the last list
  // Monotonic: when to list at the latest, and not before which time after errors.
  absl::Time next_list_ = absl::InfinitePast();
  absl::Time not_before_ = absl::InfinitePast();
  absl::Duration pause_;
  bool stopped_ = false;
  std::map<std::string, Pod> pods_;  // by UID: those with a process, running or ended
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_LOCAL_NODES_H_
