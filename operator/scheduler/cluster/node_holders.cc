#include "operator/scheduler/cluster/node_holders.h"

namespace muster::control {

void NodeHolders::Put(const kube::ObjectKey& key, const PodCache::Object& pod) {
  const bool holds = pod != nullptr && !pod->job.empty() && !pod->view->owner_uid.empty() &&
                     !pod->view->node.empty() && !pod->ended();
  const auto known = job_of_.find(key);
  if (known != job_of_.end() && (!holds || known->second != pod->view->owner_uid)) {
    const auto pods = of_job_.find(known->second);
    pods->second.erase(key);
    if (pods->second.empty()) of_job_.erase(pods);
    job_of_.erase(known);
  }
  if (!holds) return;
  job_of_[key] = pod->view->owner_uid;
  of_job_[pod->view->owner_uid][key] = pod;
}

const NodeHolders::Pods& NodeHolders::Of(const std::string& job_uid) const {
  static const Pods* const kNone = new Pods;
  const auto found = of_job_.find(job_uid);
  return found == of_job_.end() ? *kNone : found->second;
}

}  // namespace muster::control
