#ifndef MUSTER_OPERATOR_NODES_NODE_WISH_H_
#define MUSTER_OPERATOR_NODES_NODE_WISH_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"
#include "operator/core/state/view.h"
#include "operator/objects/object_records.h"
#include "proto/muster/v1alpha1/node_report.pb.h"

namespace muster::control {

// The Node labels that this operator writes; docs/node-agent.md explains them. A label for which a
// report has no value is removed. The labels of a notice are in operator/core/state/view.h.
inline constexpr char kGpuProductLabel[] = "muster.dev/gpu.product";
inline constexpr char kGpuCountLabel[] = "muster.dev/gpu.count";
inline constexpr char kGpuMemoryLabel[] = "muster.dev/gpu.memory-mib";
inline constexpr char kGpuDriverLabel[] = "muster.dev/gpu.driver";
inline constexpr char kNvlinkCliqueLabel[] = "muster.dev/nvlink.clique";
inline constexpr char kFabricLeafLabel[] = "muster.dev/fabric.leaf";
inline constexpr char kInfinibandPortsLabel[] = "muster.dev/infiniband.ports";
// The annotation with the report's hardware as JSON.
inline constexpr char kHardwareAnnotation[] = "muster.dev/hardware";
// The health conditions: False while a part of that kind has a fault, Unknown if the node agent
// sees no such part or is silent.
inline constexpr char kGpuHealthyCondition[] = "muster.dev/GPUHealthy";
inline constexpr char kInfinibandHealthyCondition[] = "muster.dev/InfinibandHealthy";
inline constexpr char kDisksHealthyCondition[] = "muster.dev/DisksHealthy";
inline constexpr const char* kHealthConditions[] = {
    kGpuHealthyCondition, kInfinibandHealthyCondition, kDisksHealthyCondition};

struct ConditionWish {
  std::string status;  // True, False or Unknown
  std::string reason;
  std::string message;

  friend bool operator==(const ConditionWish&, const ConditionWish&) = default;
};

struct HealthWish {
  // If nullopt, a node that has the condition gets `unknown`, and others do not get the condition.
  std::optional<ConditionWish> known;
  ConditionWish unknown;
};

// The desired state of a Node according to its agent's report. A label without a value is removed.
struct NodeWish {
  std::map<std::string, std::optional<std::string>> labels;
  std::optional<std::string> hardware;       // the annotation; nullopt: unchanged
  std::map<std::string, HealthWish> health;  // by type, each of kHealthConditions
};

// All functions are pure.

NodeWish WishOf(const v1alpha1::NodeReport& report);
// Returns the wish for a node whose agent has been silent for `silence`: its notice is withdrawn
// and its health is Unknown, but other labels and the annotation stay.
NodeWish WishOfSilence(absl::Duration silence);

// Return a node's condition of a type; null if it has none.
const Json* FindCondition(const Json& node, const std::string& type);
const ConditionView* FindCondition(const NodeRecord& node, const std::string& type);

// Returns the condition that a node should have, which depends on whether it has one now.
std::optional<ConditionWish> HealthOf(const HealthWish& wish, bool has_condition);

// Returns the merge patch of the Node's metadata that fulfils the wish; an empty object if the Node
// fulfils it already.
Json MetadataPatch(const NodeWish& wish, const Json& node);
// Returns the Node with the wished conditions, for UpdateStatus; nullopt if it has them already.
// `now` is a wall time.
std::optional<Json> WithHealth(const NodeWish& wish, const Json& node, absl::Time now);

// Returns `text` as a label value of at most 63 characters: each run of characters outside
// [A-Za-z0-9_.] becomes one '-', and both ends are trimmed to a letter or digit.
std::string LabelValueOf(const std::string& text);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_NODE_WISH_H_
