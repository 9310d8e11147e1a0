#include "operator/app/cluster_watch.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/api/training_job.h"
#include "operator/api/training_queue.h"
#include "operator/core/round/gang.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/objects/object_records.h"

namespace muster::control {
namespace {

void LogParseError(const kube::ObjectKey& key, const absl::Status& status) {
  MUSTER_LOG(WARN, "object ignored", {"object", kube::ToString(key)}, {"error", status});
}

bool IsSameSpec(const JobCache::Object& before, const JobCache::Object& after) {
  return before != nullptr && after != nullptr && before->uid == after->uid &&
         before->generation == after->generation;
}

// Returns true if the pod waits for a node.
bool Waits(const PodCache::Object& pod) {
  return pod != nullptr && !pod->job.empty() && pod->view->node.empty() && !pod->ended();
}

bool TakesPlace(const PodCache::Object& pod) {
  return pod != nullptr && !pod->view->node.empty() && !pod->ended();
}

bool OffersTheSame(const NodeCache::Object& before, const NodeCache::Object& after) {
  return before != nullptr && after != nullptr && before->allocatable == after->allocatable &&
         before->schedulable == after->schedulable &&
         before->scheduling->labels == after->scheduling->labels && before->taints == after->taints;
}

// TrainingJobs are the only type that must be installed first.
absl::Status ExplainListError(std::string_view resource, const absl::Status& error) {
  if (!absl::IsNotFound(error) || resource != kube::kTrainingJobs.plural) return error;
  return kube::Annotate(error,
                        "the CustomResourceDefinition trainingjobs.muster.dev is not installed, "
                        "apply deploy/crd/muster.dev_trainingjobs.yaml");
}

// Taints, notices and faults move workers, and the end of a Node proves that nothing runs there.
bool ConcernsItsWorkers(const NodeRecord* before, const NodeRecord* after) {
  if (before == nullptr) return false;
  if (after == nullptr) return true;
  return before->taints != after->taints || before->notice != after->notice ||
         !(before->scheduling->faults == after->scheduling->faults);
}

}  // namespace

ClusterWatch::ClusterWatch(kube::Api& api, const Clock& clock, Options options)
    : clock_(clock),
      options_(std::move(options)),
      jobs_(ParseTrainingJob, {{}, LogParseError}),
      pods_(ParsePodRecord, {{kJobLabel},
                             LogParseError,
                             [this](PodRecord pod) { return pod_sharing_.Keep(std::move(pod)); },
                             std::string(kube::kTrainingJobs.kind)}),
      nodes_(ParseNodeRecord, {{}, LogParseError}),
      queues_(ParseTrainingQueue, {{}, LogParseError}),
      priorities_(ParsePriorityClass, {{}, LogParseError}),
      jobs_reflector_(api, kube::kTrainingJobs,
                      Reflecting(kube::kTrainingJobs, options_.namespace_scope), jobs_, clock),
      // Every pod counts against a node's slots, whatever created it.
      pods_reflector_(api, kube::kPods, Reflecting(kube::kPods), pods_, clock),
      nodes_reflector_(api, kube::kNodes, Reflecting(kube::kNodes), nodes_, clock),
      storage_(
          api, clock, [this](const kube::ResourceType& type) { return Reflecting(type); },
          [this](std::function<void(ClusterSnapshot&)> change) {
            followers_.storage(std::move(change));
          }),
      queues_reflector_(api, kube::kTrainingQueues,
                        ReflectingSide(kube::kTrainingQueues, queues_absent_), queues_, clock),
      priorities_reflector_(api, kube::kPriorityClasses,
                            ReflectingSide(kube::kPriorityClasses, priorities_absent_), priorities_,
                            clock) {}

kube::ReflectorOptions ClusterWatch::Reflecting(const kube::ResourceType& type,
                                                const std::string& name_space) {
  kube::ReflectorOptions options;
  if (type == kube::kPods) options.fields = &PodFields();
  if (type == kube::kNodes) options.fields = &NodeFields();
  options.name_space = name_space;
  options.stream_list = true;
  options.jitter = options_.jitter;
  options.on_error = [this, resource = type.plural](const absl::Status& error) {
    const absl::Status status = ExplainListError(resource, error);
    // Limited by the error: another error within the minute is still logged.
    MUSTER_LOG_LIMITED(WARN, absl::StrCat(std::string(resource), " ", status.message()),
                       "list or watch failed", {"resource", resource}, {"error", status});
    MutexLock lock(mu_);
    list_failure_.at = clock_.Monotonic();
    list_failure_.status =
        absl::Status(status.code(), absl::StrCat(std::string(resource), ": ", status.message()));
  };
  return options;
}

kube::ReflectorOptions ClusterWatch::ReflectingSide(const kube::ResourceType& type,
                                                    std::atomic<bool>& absent) {
  kube::ReflectorOptions options = Reflecting(type);
  options.on_error = [told = options.on_error, &absent](const absl::Status& error) {
    const bool refused = absl::IsNotFound(error) || absl::IsPermissionDenied(error);
    if (!refused) return told(error);
    if (absent.exchange(true)) return;
    MUSTER_LOG(WARN, "not served, so there are none", {"error", error});
  };
  return options;
}

void ClusterWatch::Follow(Followers followers) {
  followers_ = std::move(followers);
  FollowJobs();
  FollowPods();
  FollowNodes();
}

void ClusterWatch::FollowJobs() {
  jobs_.OnChange([this](const kube::ObjectKey& key, const auto& before, const auto& after) {
    followers_.job(kube::ToString(key));
    // A change of status alone gives the scheduler no work.
    if (!IsSameSpec(before, after)) followers_.placement();
  });
}

void ClusterWatch::FollowPods() {
  pods_.OnChange([this](const kube::ObjectKey& key, const auto& before, const auto& after) {
    for (const auto& pod : {before, after}) {
      if (pod != nullptr && !pod->job.empty()) {
        followers_.job(kube::ToString({key.name_space, pod->job}));
      }
    }
    if (Waits(after) || TakesPlace(before) > TakesPlace(after)) followers_.placement();
  });
}

void ClusterWatch::FollowNodes() {
  nodes_.OnChange([this](const kube::ObjectKey& key, const auto& before, const auto& after) {
    if (ConcernsItsWorkers(before.get(), after.get())) {
      for (const PodCache::Object& pod : pods_.List()) {
        if (pod->job.empty() || pod->view->node != key.name) continue;
        followers_.job(kube::ToString({pod->key.name_space, pod->job}));
      }
    }
    if (!OffersTheSame(before, after)) followers_.placement();  // a heartbeat offers nothing new
  });
}

std::vector<kube::Reflector*> ClusterWatch::reflectors() {
  std::vector<kube::Reflector*> all = {&jobs_reflector_, &pods_reflector_, &nodes_reflector_};
  for (kube::Reflector* reflector : storage_.reflectors()) all.push_back(reflector);
  return all;
}

bool ClusterWatch::HasSynced() const {
  return jobs_.HasSynced() && pods_.HasSynced() && nodes_.HasSynced() && storage_.HasSynced() &&
         (queues_absent_ || queues_.HasSynced()) && (priorities_absent_ || priorities_.HasSynced());
}

ClusterWatch::ListFailure ClusterWatch::list_failure() const {
  MutexLock lock(mu_);
  return list_failure_;
}

void ClusterWatch::ListAfter(absl::Time when) {
  for (kube::Reflector* reflector : reflectors()) reflector->ListAfter(when);
}

bool ClusterWatch::HasListedAfter(absl::Time when) {
  bool listed = true;
  for (kube::Reflector* reflector : reflectors()) {
    listed = listed && reflector->HasListedAfter(when);
  }
  return listed;
}

}  // namespace muster::control
