#ifndef MUSTER_OPERATOR_RECONCILE_VIEW_READ_YOUR_WRITES_H_
#define MUSTER_OPERATOR_RECONCILE_VIEW_READ_YOUR_WRITES_H_

#include <cstdint>

#include "operator/kube/object_meta.h"

namespace muster::control {

// A job as its cache has it. `behind`: the caches do not yet show all writes for the job.
template <typename Object>
struct FreshJob {
  Object job;  // null: the cache has no such job
  bool behind = false;
};

// Read-your-writes: a job that is not `behind` is at least as new as `job_version`, and pods that
// are listed from now on are at least as new as `pod_version`. Events may arrive at any time, also
// between two reads. Only LatestVersion() and Get(key) of the caches are used.
template <typename Jobs, typename Pods>
auto ReadFresh(const Jobs& jobs, const Pods& pods, const kube::ObjectKey& key, uint64_t job_version,
               uint64_t pod_version) -> FreshJob<decltype(jobs.Get(key))> {
  const bool behind = jobs.LatestVersion() < job_version || pods.LatestVersion() < pod_version;
  // The job is read after the versions. In the other order it could be older than the version that
  // the cache has by then, and the last write would look lost.
  return {jobs.Get(key), behind};
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_VIEW_READ_YOUR_WRITES_H_
