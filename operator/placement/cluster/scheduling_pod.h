#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_POD_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_POD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/placement/cluster/label_selector.h"
#include "operator/placement/cluster/resource_amounts.h"

namespace muster::control {

struct PodToleration {
  std::string key;  // empty: every taint
  std::string op;   // "": Equal
  std::string value;
  std::string effect;  // empty: every effect

  friend bool operator==(const PodToleration&, const PodToleration&) = default;
};

struct HostPort {
  std::string ip;  // "0.0.0.0": every address
  std::string protocol;
  int port = 0;

  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

// A required term of inter-pod affinity or anti-affinity.
struct PodAffinityTerm {
  std::vector<std::string> namespaces;
  LabelSelector namespace_selector;
  LabelSelector selector;
  std::string topology_key;

  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct SpreadConstraint {
  int max_skew = 1;
  int min_domains = 1;
  std::string topology_key;
  LabelSelector selector;  // matchLabelKeys merged in
  bool honor_affinity = true;
  bool honor_taints = false;

  friend bool operator==(const SpreadConstraint&, const SpreadConstraint&) = default;
};

// Disks named in a pod itself, which two pods of a node cannot share.
struct InlineDisk {
  enum class Kind { kGce, kEbs, kIscsi, kRbd } kind = Kind::kGce;
  std::string id;  // disk, volume, IQN; pool/image
  std::vector<std::string> monitors;
  bool read_only = false;

  friend bool operator==(const InlineDisk&, const InlineDisk&) = default;
};

struct PodClaim {
  std::string name;
  // Made for the pod from a template in its spec; the pod must own it.
  bool ephemeral = false;

  friend bool operator==(const PodClaim&, const PodClaim&) = default;
};

// Constraints, beyond resources, on the node that a pod runs on. Behind a pointer, because most
// pods of a cluster have none.
struct PodConstraints {
  LabelMap node_selector;
  std::optional<std::vector<NodeSelectorTerm>> node_affinity;  // required; no term: no node
  std::vector<PodToleration> tolerations;
  std::vector<PodAffinityTerm> affinity;
  std::vector<PodAffinityTerm> anti_affinity;
  // True if a required or preferred term has an invalid selector: the pod is placed nowhere. A list
  // with an invalid required term is left empty, so its terms do not restrict other pods.
  bool affinity_invalid = false;
  std::vector<SpreadConstraint> spread;  // DoNotSchedule
  bool spread_invalid = false;
  std::vector<PodClaim> claims;
  std::vector<InlineDisk> disks;
  bool resource_claims = false;  // dynamic resource allocation

  friend bool operator==(const PodConstraints&, const PodConstraints&) = default;
};

// Any pod of the cluster, as placement sees it. A value: shared, never changed.
struct SchedulingPod {
  std::string ns;
  std::string name;
  std::string uid;
  LabelMap labels;
  std::string scheduler_name;
  std::string node;       // spec.nodeName; empty: not bound
  std::string nominated;  // status.nominatedNodeName, unless bound
  int priority = 0;
  bool terminating = false;
  bool ended = false;  // Succeeded or Failed: holds nothing
  // The amounts it holds on its node, including those allocated to it by a resize in place.
  ResourceAmounts holds;
  // The amounts it requests when it is placed.
  ResourceAmounts requests;
  std::vector<HostPort> host_ports;
  std::shared_ptr<const PodConstraints> constraints;  // null: none

  const PodConstraints& wants() const;
  // Returns true if it asks for a device of RDMA; others talk over TCP.
  bool uses_rdma() const;
};

// Returns true if the pods are equal, constraints included, except for their nodes.
bool IsAlike(const SchedulingPod& a, const SchedulingPod& b);

// Reduces a pod that another scheduler places to what matters: what it holds, and what keeps others
// away. Pods that hold the same get equal footprints, wherever they are; a pod that is nominated,
// or has a claim made for it alone, keeps its name.
SchedulingPod Footprint(SchedulingPod pod);

// kInvalidArgument if it cannot be a pod. Requests that an API server would have filled in from
// limits are filled in here, for pods that have not been through one.
absl::StatusOr<SchedulingPod> ParseSchedulingPod(const Json& json);

// The fields that ParseSchedulingPod reads, as paths for a field mask. If an empty object differs
// in meaning from none at all (an empty label selector selects everything), the path is that of the
// enclosing object, which must come complete.
inline constexpr std::string_view kSchedulingPodFields[] = {
    "metadata.labels",
    "metadata.deletionTimestamp",
    "spec.affinity",
    "spec.containers.name",
    "spec.containers.ports",
    "spec.containers.resources",
    "spec.hostNetwork",
    "spec.initContainers.name",
    "spec.initContainers.ports",
    "spec.initContainers.resources",
    "spec.initContainers.restartPolicy",
    "spec.nodeName",
    "spec.nodeSelector",
    "spec.overhead",
    "spec.priority",
    "spec.resourceClaims",
    "spec.resources",
    "spec.schedulerName",
    "spec.tolerations",
    "spec.topologySpreadConstraints",
    "spec.volumes.awsElasticBlockStore.volumeID",
    "spec.volumes.ephemeral.volumeClaimTemplate.spec.accessModes",
    "spec.volumes.gcePersistentDisk.pdName",
    "spec.volumes.gcePersistentDisk.readOnly",
    "spec.volumes.iscsi.iqn",
    "spec.volumes.iscsi.readOnly",
    "spec.volumes.name",
    "spec.volumes.persistentVolumeClaim.claimName",
    "spec.volumes.rbd.image",
    "spec.volumes.rbd.monitors",
    "spec.volumes.rbd.pool",
    "spec.volumes.rbd.readOnly",
    "status.conditions.reason",
    "status.conditions.type",
    "status.containerStatuses.allocatedResources",
    "status.containerStatuses.name",
    "status.containerStatuses.resources",
    "status.initContainerStatuses.allocatedResources",
    "status.initContainerStatuses.name",
    "status.initContainerStatuses.resources",
    "status.nominatedNodeName",
    "status.phase",
};

// Returns a pod's requests by kube-scheduler's formula: containers and restartable init containers
// together, or the most that any init container needs beside the restartable ones before it;
// pod-level requests replace these; plus overhead. `with_status`: a resize in place counts as well.
ResourceAmounts PodRequests(const Json& pod, bool with_status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_POD_H_
