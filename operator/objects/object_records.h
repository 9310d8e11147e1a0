#ifndef MUSTER_OPERATOR_OBJECTS_OBJECT_RECORDS_H_
#define MUSTER_OPERATOR_OBJECTS_OBJECT_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/core/view.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/placement.h"

namespace muster::control {

// A pod, any pod of the cluster, in the few fields that the controller and the scheduler use.
struct PodRecord {
  kube::ObjectKey key;
  std::string job;  // label muster.dev/job; empty: not ours
  // As placement sees it; never null. Of pods that are not ours it may be one object for many.
  std::shared_ptr<const SchedulingPod> scheduling = NoPod();
  // What it asks for when it is placed, as topology trees count.
  Resources requests;
  // Condition PodScheduled, when it is False: its message.
  std::string unscheduled_message;
  // Never null. Of pods that are not ours it may be one object for many.
  std::shared_ptr<const PodView> view = NoView();

  bool ended() const {
    return view->phase == PodPhase::kSucceeded || view->phase == PodPhase::kFailed;
  }

 private:
  static const std::shared_ptr<const SchedulingPod>& NoPod();
  static const std::shared_ptr<const PodView>& NoView();
};

struct NodeRecord {
  std::string name;
  // As placement sees it; never null.
  std::shared_ptr<const SchedulingNode> scheduling = NoNode();
  Resources allocatable;
  bool schedulable = true;  // Ready, not cordoned, and what it says of itself can be
  std::vector<ConditionView> conditions;
  std::vector<TaintView> taints;

 private:
  static const std::shared_ptr<const SchedulingNode>& NoNode();
};

// Parsers for kube::Cache. They fail only on what cannot be a pod or node; absent fields are empty.
// What they read must be among these fields: nothing else is asked of the server.
const kube::FieldMask& PodFields();
const kube::FieldMask& NodeFields();
absl::StatusOr<PodRecord> ParsePodRecord(const Json& json);
absl::StatusOr<NodeRecord> ParseNodeRecord(const Json& json);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_OBJECT_RECORDS_H_
