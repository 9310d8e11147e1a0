#ifndef MUSTER_OPERATOR_RUNTIME_SCHEDULER_H_
#define MUSTER_OPERATOR_RUNTIME_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/core/view.h"
#include "operator/kube/api.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/topology_labels.h"
#include "operator/runtime/caches.h"
#include "operator/runtime/cluster_model.h"
#include "operator/runtime/gang_placer.h"
#include "operator/runtime/placement_report.h"
#include "operator/runtime/pod_writer.h"
#include "operator/runtime/volume_wait.h"

namespace muster::control {

struct SchedulerOptions {
  // Label keys, broad to narrow; empty: the topology is found in the labels.
  std::vector<std::string> topology_levels;
  // Others call writer().WaitAndRun(); else RunOnce carries out what it has decided.
  bool writes_apart = false;
  // A gang that is bound in part for this long, and too small to run, is undone: the pods that are
  // bound are deleted, and their replacements wait for the whole gang. Leaves time to write.
  absl::Duration undo_after = absl::Seconds(5);
  // For volumes that are made or given when the gang has its places.
  absl::Duration volume_deadline = absl::Minutes(5);
};

// The scheduling cycle: groups the pods of each job into a gang, decides on one model of the
// cluster where all of it goes, and has it bound or, when it does not fit, says why on every pod
// and to the controller. What it has promised counts at once, so nothing is promised twice; a bind
// whose outcome is unknown is tried again on the same node until it is known. RunOnce is for one
// thread; the rest is thread-safe.
class Scheduler {
 public:
  using Refusal = PlacementRefusal;

  // Follows the caches from now on: they must be empty yet. `on_verdict` gets the key of a job
  // whose verdict changed; `wake` is called when there is something to do for RunOnce.
  Scheduler(
      kube::Api& api, const Clock& clock, const JobCache& jobs, PodCache& pods, NodeCache& nodes,
      std::function<void(const std::string& job_key)> on_verdict, SchedulerOptions options = {},
      std::function<void()> wake = [] {});

  // In place of the options' levels, from the next cycle on.
  void SetTopologyLevels(std::vector<std::string> keys);

  // A change of namespaces or storage, taken in before the next decision, in order.
  void Change(std::function<void(ClusterSnapshot&)> change);

  // Takes in what the caches have shown and decides nothing: of a replica that does not lead.
  void Follow();

  // One cycle over everything that waits. Returns the number of pods that were found bound by what
  // was decided here since the last call.
  int RunOnce();

  // Where the job's workers are or why they are nowhere; empty when it has not been looked at.
  PlacementView Verdict(const std::string& job_uid) const;
  int64_t binds() const;
  // Gangs that were bound in part and given up.
  int64_t undone() const;
  // Nodes whose topology labels contradict others, as last read.
  std::vector<TopologyFinding> TopologyFindings() const;
  // Nodes that are set aside for what they say of themselves, by fault, as last read.
  std::map<NodeFault, int64_t> NodeFaults() const;

  // For people: how the job's gang stands, where one that is only thought of would go, and the
  // cluster. Of a job without pods the report has no workers.
  GangReport Explain(const TrainingJob& job) const;
  struct Forecast {
    GangReport report;
    std::variant<Completion, Refusal> answer;
  };
  Forecast WhatIf(const TrainingJob& job, const PodRecord& pod) const;
  DomainReport Tree(int depth) const;

  PodWriter& writer() { return writer_; }

 private:
  // What the last look at a gang came to; the same again comes to the same.
  struct Look {
    uint64_t changes = 0;
    uint64_t version = 0;
    int64_t generation = 0;
    std::string refusal;
    uint64_t told_version = 0;
    std::string told;
    absl::Time told_at = absl::InfinitePast();
    absl::Time not_before = absl::InfinitePast();
    int in_flight = 0;  // binds that the writer has
    // Since when it is bound in part without getting on, and how far it had got.
    absl::Time half_since = absl::InfiniteFuture();
    int confirmed = 0;
    uint64_t whole_version = 0;  // every member of it was seen to be bound
  };
  struct Repeated {
    absl::Time not_before;
    PodWrite write;
  };

  void Drain() MUSTER_REQUIRES(model_mu_);
  int TakeWritten() MUSTER_REQUIRES(model_mu_);
  void Settle(const PodWritten& written) MUSTER_REQUIRES(model_mu_);
  void Repeat() MUSTER_REQUIRES(model_mu_);
  void ReportFindings() MUSTER_REQUIRES(model_mu_);
  std::vector<std::string> InOrder() const MUSTER_REQUIRES(model_mu_);
  void Schedule(const std::string& uid) MUSTER_REQUIRES(model_mu_);
  std::variant<Completion, Refusal> Ask(const PartialGang& request, const Gang& gang)
      MUSTER_REQUIRES(model_mu_);
  void Bind(const std::string& uid, const Gang& gang, const Completion& completion)
      MUSTER_REQUIRES(model_mu_);
  void BindThoseWithVolumes() MUSTER_REQUIRES(model_mu_);
  void Refuse(const std::string& uid, const Gang& gang, Look& look);
  void UndoHalves() MUSTER_REQUIRES(model_mu_);
  bool IsHalf(const Gang& gang, const TrainingJob& job, int confirmed) const;
  JobCache::Object JobOf(const std::string& uid, const Gang& gang) const;
  void SetVerdict(const TrainingJob& job, PlacementView verdict);
  void Forget() MUSTER_REQUIRES(model_mu_);

  const Clock& clock_;
  const JobCache& jobs_;
  const std::function<void(const std::string&)> on_verdict_;
  const SchedulerOptions options_;
  PodWriter writer_;

  // What the caches have shown since the last cycle.
  mutable Mutex feed_mu_;
  std::map<kube::ObjectKey, PodCache::Object> changed_pods_ MUSTER_GUARDED_BY(feed_mu_);
  std::map<std::string, NodeCache::Object> changed_nodes_ MUSTER_GUARDED_BY(feed_mu_);
  std::vector<std::function<void(ClusterSnapshot&)>> changes_ MUSTER_GUARDED_BY(feed_mu_);

  // Held while a cycle decides, not while it writes. Questions leave the model as it was.
  mutable Mutex model_mu_;
  mutable ClusterModel model_ MUSTER_GUARDED_BY(model_mu_);
  // Of RunOnce's thread.
  std::map<std::string, Look> looks_;       // by job UID
  VolumeWait volumes_;                      // places held for gangs whose volumes are not there
  std::vector<Repeated> to_repeat_;         // writes whose outcome is unknown
  std::vector<TopologyFinding> reported_;   // as last logged
  uint64_t refused_at_ = 0;                 // the model's changes() that `refused_` is of
  std::map<std::string, Refusal> refused_;  // by shape

  mutable Mutex mu_;
  std::map<std::string, PlacementView> verdicts_ MUSTER_GUARDED_BY(mu_);  // by job UID
  std::vector<TopologyFinding> findings_ MUSTER_GUARDED_BY(mu_);
  std::map<NodeFault, int64_t> node_faults_ MUSTER_GUARDED_BY(mu_);
  int64_t binds_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t undone_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_SCHEDULER_H_
