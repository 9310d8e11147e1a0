#ifndef MUSTER_OPERATOR_OBJECTS_OBJECT_RECORDS_H_
#define MUSTER_OPERATOR_OBJECTS_OBJECT_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/core/state/view.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/placement.h"

namespace muster::control {

// Any pod of the cluster, reduced to the fields that the controller and the scheduler use.
struct PodRecord {
  kube::ObjectKey key;
  std::string job;  // label muster.dev/job; empty: not one of muster's
  // The pod as placement sees it; never null. Pods that are not muster's may share one object.
  std::shared_ptr<const SchedulingPod> scheduling = NoPod();
  // The pod's requests, in the units of topology trees.
  Resources requests;
  // The message of the condition PodScheduled if that is False; otherwise empty.
  std::string unscheduled_message;
  // Never null. Pods that are not muster's may share one object.
  std::shared_ptr<const PodView> view = NoView();

  bool ended() const {
    return view->phase == PodPhase::kSucceeded || view->phase == PodPhase::kFailed;
  }

 private:
  static const std::shared_ptr<const SchedulingPod>& NoPod();
  static const std::shared_ptr<const PodView>& NoView();
};

// Returns true if the pod is a worker of the job `job` with this UID: it is in the job's namespace,
// and its controller, labels and name are those that the operator gives to a worker. A UID alone
// proves nothing, because anyone who may create pods in a namespace can write any UID into their
// ownerReferences.
bool IsWorkerOf(const PodRecord& pod, const kube::ObjectKey& job, const std::string& uid);

struct NodeRecord {
  std::string name;
  // The node as placement sees it; never null.
  std::shared_ptr<const SchedulingNode> scheduling = NoNode();
  Resources allocatable;
  bool schedulable = true;  // Ready, not cordoned, and not faulty
  std::vector<ConditionView> conditions;
  std::vector<TaintView> taints;
  std::optional<NodeNotice> notice;

 private:
  static const std::shared_ptr<const SchedulingNode>& NoNode();
};

// Parsers for kube::Cache. They fail only on objects that cannot be a pod or node, and leave absent
// fields empty. They may read only the masks' fields: no others are requested from the server.
const kube::FieldMask& PodFields();
const kube::FieldMask& NodeFields();
absl::StatusOr<PodRecord> ParsePodRecord(const Json& json);
absl::StatusOr<NodeRecord> ParseNodeRecord(const Json& json);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_OBJECT_RECORDS_H_
