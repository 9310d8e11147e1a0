#ifndef MUSTER_OPERATOR_RECONCILE_READ_YOUR_WRITES_H_
#define MUSTER_OPERATOR_RECONCILE_READ_YOUR_WRITES_H_

#include <cstdint>

#include "operator/kube/object_meta.h"

namespace muster::control {

// A job as its cache has it, and whether the caches show all that was written for it by then.
template <typename Object>
struct FreshJob {
  Object job;  // null: there is none
  bool behind = false;
};

// Read-your-writes: what is not `behind` is as new as version `job_version` of the job, and pods
// that are listed from now on are as new as `pod_version`. Events come at any time, between two
// reads too. A cache is told apart by LatestVersion() and Get(key) alone.
template <typename Jobs, typename Pods>
auto ReadFresh(const Jobs& jobs, const Pods& pods, const kube::ObjectKey& key, uint64_t job_version,
               uint64_t pod_version) -> FreshJob<decltype(jobs.Get(key))> {
  const bool behind = jobs.LatestVersion() < job_version || pods.LatestVersion() < pod_version;
  // The job is read after it: else what is read may be older than what the cache has by then, and
  // looks as if the last write were lost.
  return {jobs.Get(key), behind};
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_READ_YOUR_WRITES_H_
