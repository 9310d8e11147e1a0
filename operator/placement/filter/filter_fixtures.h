#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_FILTER_FIXTURES_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_FILTER_FIXTURES_H_

#include <map>
#include <string>
#include <utility>

#include "base/json.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"

// Small clusters for tests, in the JSON of Kubernetes objects.
namespace muster::control {

// `text` is JSON, such as the `spec` of a pod or node, with single quotes in place of double ones.
Json FromText(std::string text);

// A pod of the namespace "default" with the label app=`app`; no requests unless the spec has some.
SchedulingPod PodOf(const std::string& name, const std::string& spec = "{}",
                    const std::string& app = "x");

struct FilterWorld {
  ClusterSnapshot snapshot;

  // Ready, 8 CPUs, 32 GiB, 8 GPUs, 10 pods; `labels` beside kubernetes.io/hostname.
  const NodeState& AddNode(const std::string& name, const std::string& labels = "{}",
                           const std::string& spec = "{}");
  void Bind(const SchedulingPod& pod, const std::string& node);
  void Unbind(const std::string& pod);  // the pod bound under this name
  const NodeState& node(const std::string& name) const { return *snapshot.FindNode(name); }

  std::map<std::string, std::pair<PodPointer, std::string>> bound;  // by the pod's name
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_FILTER_FIXTURES_H_
