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

// The labels of a Node that this operator writes. A label that a report gives no value for is
// removed. docs/node-agent.md lists them with their meaning; operator/core/state/view.h has those
// of a notice.
inline constexpr char kGpuProductLabel[] = "muster.dev/gpu.product";
inline constexpr char kGpuCountLabel[] = "muster.dev/gpu.count";
inline constexpr char kGpuMemoryLabel[] = "muster.dev/gpu.memory-mib";
inline constexpr char kGpuDriverLabel[] = "muster.dev/gpu.driver";
inline constexpr char kNvlinkCliqueLabel[] = "muster.dev/nvlink.clique";
inline constexpr char kFabricLeafLabel[] = "muster.dev/fabric.leaf";
inline constexpr char kInfinibandPortsLabel[] = "muster.dev/infiniband.ports";
// The annotation with the report's hardware as JSON.
inline constexpr char kHardwareAnnotation[] = "muster.dev/hardware";
// The conditions: False while a part of that kind has a fault, Unknown while nobody can tell.
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
  // nullopt: as `unknown` if the node has the condition, else absent.
  std::optional<ConditionWish> known;
  ConditionWish unknown;
};

// A Node object as its agent's report wants it. Labels without a value are not to be there.
struct NodeWish {
  std::map<std::string, std::optional<std::string>> labels;
  std::optional<std::string> hardware;       // of the annotation; nullopt leaves it as it is
  std::map<std::string, HealthWish> health;  // by type, each of kHealthConditions
};

// All functions are pure.

NodeWish WishOf(const v1alpha1::NodeReport& report);
// The wish when the agent of a node has said nothing for `silence`: a notice is taken back, other
// labels and the annotation stay.
NodeWish WishOfSilence(absl::Duration silence);

// Return a node's condition of a type; null if it has none.
const Json* FindCondition(const Json& node, const std::string& type);
const ConditionView* FindCondition(const NodeRecord& node, const std::string& type);

// Returns the condition that a node should have that has it now or not.
std::optional<ConditionWish> HealthOf(const HealthWish& wish, bool has_condition);

// Returns the merge patch of the Node's metadata that fulfils the wish; an empty object if nothing
// is to be changed.
Json MetadataPatch(const NodeWish& wish, const Json& node);
// Returns the Node with the conditions as wished, for UpdateStatus; nullopt if they are so already.
// `now` is a wall time.
std::optional<Json> WithHealth(const NodeWish& wish, const Json& node, absl::Time now);

// Returns `text` as a label's value: other characters than [A-Za-z0-9_.-] become '-', at most 63.
std::string LabelValueOf(const std::string& text);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_NODE_WISH_H_
