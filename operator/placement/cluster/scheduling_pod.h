#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_POD_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_POD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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
  // Made for the pod from a template in it: must be owned by the pod.
  bool ephemeral = false;

  friend bool operator==(const PodClaim&, const PodClaim&) = default;
};

// What a pod asks of the node it is to run on, beyond resources: behind a pointer, because most of
// a cluster's pods ask nothing.
struct PodConstraints {
  LabelMap node_selector;
  std::optional<std::vector<NodeSelectorTerm>> node_affinity;  // required; no term: no node
  std::vector<PodToleration> tolerations;
  std::vector<PodAffinityTerm> affinity;
  std::vector<PodAffinityTerm> anti_affinity;
  // A selector in a term that cannot be: the pod is placed nowhere, its terms count for nobody.
  bool affinity_invalid = false;
  std::vector<SpreadConstraint> spread;  // DoNotSchedule
  bool spread_invalid = false;
  std::vector<PodClaim> claims;
  std::vector<InlineDisk> disks;
  bool resource_claims = false;  // dynamic resource allocation

  friend bool operator==(const PodConstraints&, const PodConstraints&) = default;
};

// A pod, any pod of the cluster, as placement sees it. A value: shared, never changed.
struct SchedulingPod {
  std::string ns;
  std::string name;
  std::string uid;
  LabelMap labels;
  std::string scheduler_name;
  std::string node;       // spec.nodeName; empty: not bound
  std::string nominated;  // status.nominatedNodeName, of one that is not bound
  int priority = 0;
  bool terminating = false;
  bool ended = false;  // Succeeded or Failed: holds nothing
  // What it holds on its node: with what was allocated to it by a resize in place.
  ResourceAmounts holds;
  // What it asks for when it is placed.
  ResourceAmounts requests;
  std::vector<HostPort> host_ports;
  std::shared_ptr<const PodConstraints> constraints;  // null: none

  const PodConstraints& wants() const;
};

// Whether everything is equal, constraints included, but for the nodes they are on.
bool IsAlike(const SchedulingPod& a, const SchedulingPod& b);

// What matters of a pod that somebody else places: what it holds, and what keeps others away. Alike
// for all that hold the same, wherever they are; one that is nominated, or has a claim made for it
// alone, keeps its name.
SchedulingPod Footprint(SchedulingPod pod);

// kInvalidArgument for what cannot be a pod. Requests that an API server would have filled in from
// limits are filled in here, for pods that have not been through one.
absl::StatusOr<SchedulingPod> ParseSchedulingPod(const Json& json);

// A pod's requests by kube-scheduler's formula: containers and restartable init containers
// together, or the most that any init container needs beside the restartable ones before it; pod
// level requests in their place; plus overhead. `with_status`: a resize in place counts as well.
ResourceAmounts PodRequests(const Json& pod, bool with_status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_POD_H_
