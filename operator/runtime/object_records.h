#ifndef MUSTER_OPERATOR_RUNTIME_OBJECT_RECORDS_H_
#define MUSTER_OPERATOR_RUNTIME_OBJECT_RECORDS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/core/view.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/placement/placement.h"

namespace muster::control {

struct Toleration {
  std::string key;  // empty with `exists`: every taint
  std::string value;
  std::string effect;  // empty: every effect
  bool exists = false;
};

// A pod, any pod of the cluster, in the few fields that the controller and the scheduler use.
struct PodRecord {
  kube::ObjectKey key;
  std::string job;  // label muster.dev/job; empty: not ours
  std::string scheduler_name;
  // By Kubernetes' rule: the containers' sum or the largest init container, whichever is more.
  Resources requests;
  std::map<std::string, std::string> node_selector;
  std::vector<Toleration> tolerations;
  // Condition PodScheduled, when it is False: its message.
  std::string unscheduled_message;
  PodView view;

  bool ended() const {
    return view.phase == PodPhase::kSucceeded || view.phase == PodPhase::kFailed;
  }
};

struct NodeRecord {
  std::string name;
  Resources allocatable;
  bool schedulable = true;  // Ready and not cordoned
  std::map<std::string, std::string> labels;
  std::vector<ConditionView> conditions;
  std::vector<TaintView> taints;
};

// Whether a pod with these tolerations may be bound to a node with these taints. A preference not
// to (PreferNoSchedule) is no obstacle.
bool Tolerates(const std::vector<Toleration>& tolerations, const std::vector<TaintView>& taints);

// Parsers for kube::Cache. They fail only on what cannot be a pod or node; absent fields are empty.
// What they read must be among these fields: nothing else is asked of the server.
const kube::FieldMask& PodFields();
const kube::FieldMask& NodeFields();
absl::StatusOr<PodRecord> ParsePodRecord(const Json& json);
absl::StatusOr<NodeRecord> ParseNodeRecord(const Json& json);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_OBJECT_RECORDS_H_
