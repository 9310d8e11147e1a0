#ifndef MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HOLDERS_H_
#define MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HOLDERS_H_

#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "operator/kube/object_meta.h"
#include "operator/objects/caches.h"

namespace muster::control {

// The pods of jobs that hold a node, including those being deleted: what a stopping job has yet to
// give back. Follows the caches' events alone. Not thread-safe.
class NodeHolders {
 public:
  using Pods = std::map<kube::ObjectKey, PodCache::Object>;

  // Takes the pod as the cache shows it now; null means that it is gone.
  void Put(const kube::ObjectKey& key, const PodCache::Object& pod);
  const Pods& Of(const std::string& job_uid) const;

 private:
  std::map<std::string, Pods> of_job_;
  absl::flat_hash_map<kube::ObjectKey, std::string> job_of_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HOLDERS_H_
