#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_STORAGE_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_STORAGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/quantity.h"
#include "operator/placement/cluster/label_selector.h"

// Storage objects as placement sees them: plain values.
namespace muster::control {

struct VolumeClaim {
  std::string ns;
  std::string name;
  std::string uid;
  std::string owner_uid;  // of its controller
  std::string volume;     // empty: not bound
  bool bind_completed = false;
  bool lost = false;  // phase Lost
  bool terminating = false;
  std::string storage_class;
  std::optional<std::string> selected_node;
  std::vector<std::string> access_modes;
  LabelSelector selector;  // absent: none asked
  std::optional<Quantity> requested;
  std::string volume_mode;  // "Filesystem" by default
  std::string attributes_class;
};

struct Volume {
  std::string name;
  LabelMap labels;
  std::optional<std::vector<NodeSelectorTerm>> node_affinity;
  std::string csi_driver;  // empty: not a CSI volume
  std::string csi_handle;
  std::string storage_class;
  std::vector<std::string> access_modes;
  Quantity capacity;
  std::string volume_mode;
  std::string attributes_class;
  bool available = false;  // phase Available
  bool terminating = false;
  // claimRef; empty name: none.
  std::string claim_ns;
  std::string claim_name;
  std::string claim_uid;
};

enum class BindingMode { kUnset, kImmediate, kWaitForFirstConsumer };

struct StorageClass {
  std::string name;
  std::string provisioner;
  BindingMode binding = BindingMode::kUnset;
  // allowedTopologies: alternatives; none: every node.
  std::vector<std::vector<LabelRequirement>> topologies;
  bool restricts_topology = false;
};

// CSINode: the number of volumes of each driver that a node can attach.
struct AttachLimits {
  std::string node;
  std::map<std::string, int64_t> by_driver;
};

struct VolumeAttachment {
  std::string name;
  std::string node;
  std::string attacher;
  std::string volume;
};

// CSIDriver, reduced to whether its storage capacity counts.
struct StorageDriver {
  std::string name;
  bool counts_capacity = false;
};

struct StorageCapacity {
  std::string ns;
  std::string name;
  std::string storage_class;
  std::optional<int64_t> largest_volume;  // maximumVolumeSize, else capacity
  LabelSelector nodes;
};

absl::StatusOr<VolumeClaim> ParseVolumeClaim(const Json& json);
absl::StatusOr<Volume> ParseVolume(const Json& json);
absl::StatusOr<StorageClass> ParseStorageClass(const Json& json);
absl::StatusOr<AttachLimits> ParseAttachLimits(const Json& json);
absl::StatusOr<VolumeAttachment> ParseVolumeAttachment(const Json& json);
absl::StatusOr<StorageDriver> ParseStorageDriver(const Json& json);
absl::StatusOr<StorageCapacity> ParseStorageCapacity(const Json& json);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_STORAGE_H_
