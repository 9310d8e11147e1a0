#include "operator/placement/cluster/scheduling_pod.h"

#include <algorithm>
#include <utility>

#include "base/json_fields.h"

namespace muster::control {
namespace {

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

bool HasKey(const LabelSelector& selector, const std::string& key) {
  return std::any_of(selector.requirements.begin(), selector.requirements.end(),
                     [&](const LabelRequirement& one) { return one.key == key; });
}

// Adds the pod's values of these labels as requirements. The API server writes them into the
// selector itself, so keys that are there already are skipped.
void MergeLabelKeys(const Json& json, const char* field, SelectorOperator op,
                    const LabelMap& labels, LabelSelector& selector) {
  if (selector.absent) return;
  for (const std::string& key : StringsField(json, field)) {
    const auto label = labels.find(key);
    if (label == labels.end() || HasKey(selector, key)) continue;
    selector.requirements.push_back({key, op, {std::string(label->second)}});
  }
}

PodAffinityTerm ParseAffinityTerm(const Json& json, const std::string& ns, const LabelMap& labels) {
  PodAffinityTerm term;
  term.selector = ParseLabelSelector(FindField(json, {"labelSelector"}));
  MergeLabelKeys(json, "matchLabelKeys", SelectorOperator::kIn, labels, term.selector);
  MergeLabelKeys(json, "mismatchLabelKeys", SelectorOperator::kNotIn, labels, term.selector);
  term.namespace_selector = ParseLabelSelector(FindField(json, {"namespaceSelector"}));
  term.namespaces = StringsField(json, "namespaces");
  if (term.namespaces.empty() && term.namespace_selector.absent) term.namespaces = {ns};
  term.topology_key = StringField(json, "topologyKey");
  return term;
}

bool IsValid(const PodAffinityTerm& term) {
  return term.selector.valid && term.namespace_selector.valid;
}

// Returns the required terms; none if one is invalid. Preferred terms are only checked.
std::vector<PodAffinityTerm> ParseAffinityTerms(const Json& json, const SchedulingPod& pod,
                                                bool& invalid) {
  std::vector<PodAffinityTerm> terms;
  bool all_valid = true;
  for (const Json& item : ArrayField(json, kRequired)) {
    terms.push_back(ParseAffinityTerm(item, pod.ns, pod.labels));
    all_valid = all_valid && IsValid(terms.back());
  }
  for (const Json& item : ArrayField(json, kPreferred)) {
    const Json& preferred = ObjectField(item, "podAffinityTerm");
    invalid = invalid || !IsValid(ParseAffinityTerm(preferred, pod.ns, pod.labels));
  }
  invalid = invalid || !all_valid;
  return all_valid ? terms : std::vector<PodAffinityTerm>();
}

SpreadConstraint ParseSpread(const Json& json, const LabelMap& labels) {
  SpreadConstraint spread;
  spread.max_skew = static_cast<int>(IntegerField(json, "maxSkew").value_or(0));
  spread.min_domains = static_cast<int>(IntegerField(json, "minDomains").value_or(1));
  spread.topology_key = StringField(json, "topologyKey");
  spread.selector = ParseLabelSelector(FindField(json, {"labelSelector"}));
  for (const std::string& key : StringsField(json, "matchLabelKeys")) {
    const auto label = labels.find(key);
    if (label == labels.end() || spread.selector.absent) continue;
    spread.selector.requirements.push_back(
        {key, SelectorOperator::kIn, {std::string(label->second)}});
  }
  const std::string affinity = StringField(json, "nodeAffinityPolicy");
  spread.honor_affinity = affinity.empty() || affinity == "Honor";
  spread.honor_taints = StringField(json, "nodeTaintsPolicy") == "Honor";
  return spread;
}

void ParseAffinity(const Json& affinity, const SchedulingPod& pod, PodConstraints& wants) {
  const Json* required = FindField(affinity, {"nodeAffinity", kRequired});
  if (required != nullptr && required->is_object()) {
    wants.node_affinity = ParseNodeSelectorTerms(*required);
  }
  wants.affinity =
      ParseAffinityTerms(ObjectField(affinity, "podAffinity"), pod, wants.affinity_invalid);
  wants.anti_affinity =
      ParseAffinityTerms(ObjectField(affinity, "podAntiAffinity"), pod, wants.affinity_invalid);
}

void ParseDisk(const Json& volume, std::vector<InlineDisk>& disks) {
  using Kind = InlineDisk::Kind;
  if (const Json& gce = ObjectField(volume, "gcePersistentDisk"); !gce.empty()) {
    disks.push_back({Kind::kGce, StringField(gce, "pdName"), {}, BoolField(gce, "readOnly")});
  }
  if (const Json& ebs = ObjectField(volume, "awsElasticBlockStore"); !ebs.empty()) {
    disks.push_back({Kind::kEbs, StringField(ebs, "volumeID"), {}, false});
  }
  if (const Json& iscsi = ObjectField(volume, "iscsi"); !iscsi.empty()) {
    disks.push_back({Kind::kIscsi, StringField(iscsi, "iqn"), {}, BoolField(iscsi, "readOnly")});
  }
  if (const Json& rbd = ObjectField(volume, "rbd"); !rbd.empty()) {
    const std::string pool = StringField(rbd, "pool");
    disks.push_back({Kind::kRbd, (pool.empty() ? "rbd" : pool) + "/" + StringField(rbd, "image"),
                     StringsField(rbd, "monitors"), BoolField(rbd, "readOnly")});
  }
}

void ParseVolumes(const Json& spec, const SchedulingPod& pod, PodConstraints& wants) {
  for (const Json& volume : ArrayField(spec, "volumes")) {
    if (const Json& claim = ObjectField(volume, "persistentVolumeClaim"); !claim.empty()) {
      wants.claims.push_back({StringField(claim, "claimName"), false});
    } else if (FindField(volume, {"ephemeral"}) != nullptr) {
      wants.claims.push_back({pod.name + "-" + StringField(volume, "name"), true});
    }
    ParseDisk(volume, wants.disks);
  }
}

bool IsEmpty(const PodConstraints& wants) {
  return wants.node_selector.empty() && !wants.node_affinity && wants.tolerations.empty() &&
         wants.affinity.empty() && wants.anti_affinity.empty() && !wants.affinity_invalid &&
         wants.spread.empty() && !wants.spread_invalid && wants.claims.empty() &&
         wants.disks.empty() && !wants.resource_claims;
}

std::shared_ptr<const PodConstraints> ParseConstraints(const Json& spec, const SchedulingPod& pod) {
  PodConstraints wants;
  wants.node_selector = LabelField(spec, "nodeSelector");
  const Json& tolerations = ArrayField(spec, "tolerations");
  wants.tolerations.reserve(tolerations.size());
  for (const Json& item : tolerations) {
    wants.tolerations.push_back({StringField(item, "key"), StringField(item, "operator"),
                                 StringField(item, "value"), StringField(item, "effect")});
  }
  ParseAffinity(ObjectField(spec, "affinity"), pod, wants);
  for (const Json& item : ArrayField(spec, "topologySpreadConstraints")) {
    if (StringField(item, "whenUnsatisfiable") != "DoNotSchedule") continue;
    wants.spread.push_back(ParseSpread(item, pod.labels));
    wants.spread_invalid = wants.spread_invalid || !wants.spread.back().selector.valid;
  }
  ParseVolumes(spec, pod, wants);
  wants.resource_claims = !ArrayField(spec, "resourceClaims").empty();
  if (IsEmpty(wants)) return nullptr;
  return std::make_shared<const PodConstraints>(std::move(wants));
}

void AddPorts(const Json& container, bool host_network, std::vector<HostPort>& ports) {
  for (const Json& item : ArrayField(container, "ports")) {
    int64_t port = IntegerField(item, "hostPort").value_or(0);
    if (port == 0 && host_network) port = IntegerField(item, "containerPort").value_or(0);
    if (port <= 0) continue;
    const std::string ip = StringField(item, "hostIP");
    const std::string protocol = StringField(item, "protocol");
    ports.push_back(
        {ip.empty() ? "0.0.0.0" : ip, protocol.empty() ? "TCP" : protocol, static_cast<int>(port)});
  }
}

std::vector<HostPort> ParsePorts(const Json& spec) {
  std::vector<HostPort> ports;
  const bool host_network = BoolField(spec, "hostNetwork");
  for (const Json& container : ArrayField(spec, "initContainers")) {
    if (StringField(container, "restartPolicy") != "Always") continue;
    AddPorts(container, host_network, ports);
  }
  for (const Json& container : ArrayField(spec, "containers")) {
    AddPorts(container, host_network, ports);
  }
  return ports;
}

// Returns true if the status has resources; otherwise only the requests count.
bool HasResourceStatus(const Json& status) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& one : ArrayField(status, list)) {
      if (FindField(one, {"resources"}) != nullptr) return true;
    }
  }
  return false;
}

}  // namespace

const PodConstraints& SchedulingPod::wants() const {
  static const PodConstraints& none = *new PodConstraints;
  return constraints == nullptr ? none : *constraints;
}

bool SchedulingPod::uses_rdma() const {
  const auto& scalars = requests.scalars;
  return std::any_of(scalars.begin(), scalars.end(), [](const auto& scalar) {
    return scalar.second > 0 && IsRdmaResource(scalar.first);
  });
}

bool IsAlike(const SchedulingPod& a, const SchedulingPod& b) {
  return a.ns == b.ns && a.name == b.name && a.uid == b.uid && a.labels == b.labels &&
         a.scheduler_name == b.scheduler_name && a.priority == b.priority &&
         a.terminating == b.terminating && a.ended == b.ended && a.holds == b.holds &&
         a.requests == b.requests && a.host_ports == b.host_ports &&
         (a.constraints == b.constraints || a.wants() == b.wants());
}

SchedulingPod Footprint(SchedulingPod pod) {
  const PodConstraints& all = pod.wants();
  PodConstraints left;
  left.anti_affinity = all.anti_affinity;
  left.claims = all.claims;
  left.disks = all.disks;
  const bool named =
      !pod.nominated.empty() || std::any_of(all.claims.begin(), all.claims.end(),
                                            [](const PodClaim& claim) { return claim.ephemeral; });
  pod.constraints =
      IsEmpty(left) ? nullptr : std::make_shared<const PodConstraints>(std::move(left));
  pod.scheduler_name.clear();
  pod.requests = {};
  pod.node.clear();
  if (named) return pod;
  pod.name.clear();
  pod.uid.clear();
  return pod;
}

absl::StatusOr<SchedulingPod> ParseSchedulingPod(const Json& json) {
  const Json& meta = ObjectField(json, "metadata");
  const Json& spec = ObjectField(json, "spec");
  const Json& status = ObjectField(json, "status");
  SchedulingPod pod;
  pod.name = StringField(meta, "name");
  if (pod.name.empty()) return absl::InvalidArgumentError("a pod without a name");
  pod.ns = StringField(meta, "namespace");
  pod.uid = StringField(meta, "uid");
  pod.labels = LabelField(meta, "labels");
  pod.terminating = !StringField(meta, "deletionTimestamp").empty();
  pod.scheduler_name = StringField(spec, "schedulerName");
  pod.node = StringField(spec, "nodeName");
  if (pod.node.empty()) pod.nominated = StringField(status, "nominatedNodeName");
  pod.priority = static_cast<int>(IntegerField(spec, "priority").value_or(0));
  const std::string phase = StringField(status, "phase");
  pod.ended = phase == "Succeeded" || phase == "Failed";
  pod.requests = PodRequests(json, false);
  pod.holds = HasResourceStatus(status) ? PodRequests(json, true) : pod.requests;
  pod.host_ports = ParsePorts(spec);
  pod.constraints = ParseConstraints(spec, pod);
  return pod;
}

}  // namespace muster::control
