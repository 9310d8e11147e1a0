#include "tests/differential/random_cluster.h"

#include <utility>

namespace muster::control {
namespace {

using Text = std::string;

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

}  // namespace

RandomCluster::RandomCluster(uint64_t seed)
    : dice_(seed), has_nominated_(dice_.Chance(40)), objects_(Json::object()) {
  for (const char* list : {"nodes", "pods", "namespaces", "claims", "volumes", "classes",
                           "csiNodes", "attachments", "drivers", "capacities", "waiting"}) {
    objects_[list] = Json::array();
  }
  objects_["taintComparison"] = dice_.Chance(50);
  AddNamespaces();
  AddClasses();
  for (int i = 0; i < 5; ++i) AddNode(i);
  AddClaims();
  for (const Text& node : nodes_) AddPodsOn(node);
  for (int i = 0; i < 5; ++i) {
    Json pod = Pod("waiting-" + std::to_string(i), dice_.Pick<int>({0, 4, 10, 30}));
    if (dice_.Chance(5)) pod["spec"]["nodeName"] = dice_.Pick(nodes_);
    objects_["waiting"].push_back(std::move(pod));
  }
}

Json RandomCluster::Meta(const Text& name, const Text& ns) {
  Json meta = {{"name", name}, {"uid", "uid-" + std::to_string(++serial_)}};
  if (!ns.empty()) meta["namespace"] = ns;
  return meta;
}

void RandomCluster::AddNamespaces() {
  const auto add = [&](const char* name, Json labels) {
    Json meta = Meta(name, "");
    meta["labels"] = std::move(labels);
    objects_["namespaces"].push_back({{"metadata", std::move(meta)}});
  };
  add("default", {{"team", "core"}});
  add("a", {{"team", "a"}, {"env", "prod"}});
  if (dice_.Chance(70)) add("b", Json::object());
}

Json RandomCluster::Amounts(bool large) {
  Json amounts = Json::object();
  if (dice_.Chance(80)) {
    amounts["cpu"] = large ? dice_.Pick<Text>({"2", "3500m", "1.5", "6"})
                           : dice_.Pick<Text>({"100m", "0.3", "250m", "1e-1", "333u", "1"});
  }
  if (dice_.Chance(70)) {
    amounts["memory"] = large ? dice_.Pick<Text>({"6Gi", "5e9", "7000Mi"})
                              : dice_.Pick<Text>({"128Mi", "1.5Gi", "500M", "123456789", "1e6"});
  }
  if (dice_.Chance(15)) amounts["ephemeral-storage"] = dice_.Pick<Text>({"1Gi", "4Gi", "10G"});
  if (dice_.Chance(18)) amounts["nvidia.com/gpu"] = dice_.Pick<Text>({"1", "2", "4"});
  if (dice_.Chance(4)) amounts["nvidia.com/mig-1g.10gb"] = "1";
  if (dice_.Chance(7)) amounts["rdma/hca_shared"] = dice_.Pick<Text>({"1", "0", "2"});
  if (dice_.Chance(5)) amounts["hugepages-2Mi"] = dice_.Pick<Text>({"2Mi", "16Mi"});
  if (dice_.Chance(2)) amounts["example.kubernetes.io/thing"] = "1";
  if (dice_.Chance(4)) amounts["storage"] = "1Gi";  // a resource that no filter counts
  return amounts;
}

void RandomCluster::AddNode(int index) {
  const Text name = "node-" + std::to_string(index);
  nodes_.push_back(name);
  Json meta = Meta(name, "");
  Json& labels = meta["labels"];
  labels["kubernetes.io/hostname"] = name;
  if (dice_.Chance(85))
    labels["topology.kubernetes.io/zone"] = dice_.Pick<Text>({"z1", "z2", "z3"});
  if (dice_.Chance(30))
    labels["failure-domain.beta.kubernetes.io/zone"] = dice_.Pick<Text>({"z1", "z2"});
  if (dice_.Chance(80)) labels["rack"] = dice_.Pick<Text>({"r1", "r2"});
  if (dice_.Chance(70)) labels["disk"] = dice_.Pick<Text>({"ssd", "hdd"});
  if (dice_.Chance(70)) labels["gen"] = dice_.Pick<Text>({"1", "2", "3", "007", "-4", "x"});
  Json allocatable = {{"cpu", dice_.Pick<Text>({"8", "7500m", "16"})},
                      {"memory", dice_.Pick<Text>({"32Gi", "24000000Ki", "2e10"})},
                      {"pods", dice_.Pick<Text>({"3", "110", "110"})},
                      {"hugepages-2Mi", "64Mi"}};
  if (dice_.Chance(95)) allocatable["ephemeral-storage"] = dice_.Pick<Text>({"40Gi", "20Gi"});
  if (dice_.Chance(93)) allocatable["nvidia.com/gpu"] = dice_.Pick<Text>({"4", "8"});
  if (dice_.Chance(80)) allocatable["rdma/hca_shared"] = "4";
  if (dice_.Chance(80)) allocatable["nvidia.com/mig-1g.10gb"] = "4";
  if (dice_.Chance(80)) allocatable["example.kubernetes.io/thing"] = "3";
  Json spec = Json::object();
  if (dice_.Chance(6)) spec["unschedulable"] = true;
  if (dice_.Chance(20)) {
    const Text key = dice_.Pick<Text>({"nvidia.com/gpu", "dedicated", "speed"});
    spec["taints"].push_back(
        {{"key", key},
         {"value", dice_.Pick<Text>({"", "a", "5", "10", "-3", "05"})},
         {"effect", dice_.Pick<Text>({"NoSchedule", "NoExecute", "PreferNoSchedule"})}});
  }
  objects_["nodes"].push_back(
      {{"metadata", std::move(meta)},
       {"spec", std::move(spec)},
       {"status",
        {{"allocatable", std::move(allocatable)},
         {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
  AddCsiNode(name);
}

Json RandomCluster::Ports() {
  Json port = {{"containerPort", 80}};
  port["hostPort"] = dice_.Pick<int>({8080, 8081, 9000, 0});
  if (dice_.Chance(50)) port["hostIP"] = dice_.Pick<Text>({"10.0.0.1", "0.0.0.0", "10.0.0.2"});
  if (dice_.Chance(60)) port["protocol"] = dice_.Pick<Text>({"TCP", "UDP"});
  return Json::array({std::move(port)});
}

Json RandomCluster::Containers(const char* prefix, int count, bool can_restart, int richness) {
  Json containers = Json::array();
  for (int i = 0; i < count; ++i) {
    Json container = {{"name", prefix + std::to_string(i)}, {"image", "i"}};
    Json requests = Amounts(dice_.Chance(richness / 2));
    // An API server gives every resource with a limit a request, too.
    if (dice_.Chance(30)) container["resources"]["limits"] = requests;
    container["resources"]["requests"] = std::move(requests);
    if (can_restart && dice_.Chance(50)) container["restartPolicy"] = "Always";
    if (dice_.Chance(richness + 6)) container["ports"] = Ports();
    containers.push_back(std::move(container));
  }
  return containers;
}

Json RandomCluster::Tolerations() {
  Json tolerations = Json::array();
  for (int i = dice_.Below(3); i >= 0; --i) {
    Json one = Json::object();
    if (dice_.Chance(85)) {
      one["key"] = dice_.Pick<Text>(
          {"nvidia.com/gpu", "dedicated", "speed", "node.kubernetes.io/unschedulable"});
    }
    if (dice_.Chance(85))
      one["operator"] = dice_.Pick<Text>({"Equal", "Exists", "Exists", "Gt", "Lt"});
    if (dice_.Chance(60)) one["value"] = dice_.Pick<Text>({"a", "5", "7", "-10", "05"});
    if (dice_.Chance(40)) one["effect"] = dice_.Pick<Text>({"NoSchedule", "NoExecute"});
    tolerations.push_back(std::move(one));
  }
  return tolerations;
}

Json RandomCluster::Requirement(bool node) {
  Text op = dice_.Pick<Text>({"In", "In", "NotIn", "Exists", "DoesNotExist"});
  if (node && dice_.Chance(25)) op = dice_.Pick<Text>({"Gt", "Lt"});
  if (dice_.Chance(2)) op = "Near";
  Json one = {{"operator", op}};
  if (op == "Gt" || op == "Lt") {
    one["key"] = dice_.Pick<Text>({"gen", "gen", "disk"});
    one["values"] = Json::array({dice_.Pick<Text>({"0", "1", "2", "-5", "x"})});
    return one;
  }
  one["key"] = node ? dice_.Pick<Text>({"disk", "rack", "topology.kubernetes.io/zone", "gen"})
                    : dice_.Pick<Text>({"app", "app", "tier", "team"});
  if (op == "In" || op == "NotIn" || dice_.Chance(2)) {
    Json values = Json::array();
    for (int i = dice_.Below(2); i >= 0; --i) {
      values.push_back(node ? dice_.Pick<Text>({"ssd", "hdd", "r1", "z1", "z2", "2"})
                            : dice_.Pick<Text>({"x", "y", "front", "a"}));
    }
    if (dice_.Chance(2)) values.push_back("-no value-");
    one["values"] = std::move(values);
  }
  return one;
}

Json RandomCluster::Selector() {
  Json selector = Json::object();
  if (dice_.Chance(65)) selector["matchLabels"]["app"] = dice_.Pick<Text>({"x", "y"});
  if (dice_.Chance(30)) selector["matchExpressions"] = Json::array({Requirement(false)});
  // An empty selector, which selects everything, is treated differently for nominated pods.
  if (selector.empty() && has_nominated_) selector["matchLabels"]["app"] = "x";
  return selector;
}

Json RandomCluster::NodeAffinity() {
  Json terms = Json::array();
  for (int i = dice_.Below(2); i >= 0; --i) {
    Json term = Json::object();
    for (int j = dice_.Below(3); j > 0; --j) term["matchExpressions"].push_back(Requirement(true));
    if (dice_.Chance(25)) {
      Json values = Json::array({dice_.Pick(nodes_)});
      if (dice_.Chance(10)) values.push_back(dice_.Pick(nodes_));
      term["matchFields"].push_back({{"key", "metadata.name"},
                                     {"operator", dice_.Pick<Text>({"In", "NotIn", "NotIn"})},
                                     {"values", std::move(values)}});
    }
    terms.push_back(std::move(term));
  }
  if (dice_.Chance(3)) terms = Json::array();
  return {{kRequired, {{"nodeSelectorTerms", std::move(terms)}}}};
}

Json RandomCluster::AffinityTerms(bool anti) {
  Json terms = Json::array();
  for (int i = dice_.Chance(25) ? 1 : 0; i >= 0; --i) {
    Json term = {{"topologyKey", dice_.Pick<Text>({"kubernetes.io/hostname", "rack",
                                                   "topology.kubernetes.io/zone"})}};
    if (anti && dice_.Chance(50)) term["topologyKey"] = "kubernetes.io/hostname";
    if (dice_.Chance(95)) term["labelSelector"] = Selector();
    if (dice_.Chance(20)) term["namespaces"] = Json::array({dice_.Pick<Text>({"a", "b"})});
    if (dice_.Chance(30)) {
      term["namespaceSelector"] =
          dice_.Chance(30) ? Json::object()
                           : Json{{"matchExpressions", Json::array({Requirement(false)})}};
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

Json RandomCluster::Affinity(int richness) {
  Json affinity = Json::object();
  if (dice_.Chance(richness)) affinity["nodeAffinity"] = NodeAffinity();
  if (dice_.Chance(richness * 2 / 3)) affinity["podAffinity"][kRequired] = AffinityTerms(false);
  if (dice_.Chance(richness)) affinity["podAntiAffinity"][kRequired] = AffinityTerms(true);
  if (dice_.Chance(5)) {
    affinity["podAntiAffinity"][kPreferred] =
        Json::array({{{"weight", 1}, {"podAffinityTerm", AffinityTerms(true)[0]}}});
  }
  return affinity;
}

Json RandomCluster::Spread() {
  Json constraints = Json::array();
  for (int i = dice_.Chance(25) ? 1 : 0; i >= 0; --i) {
    Json one = {{"maxSkew", 1 + dice_.Below(2)},
                {"topologyKey", dice_.Pick<Text>({"rack", "topology.kubernetes.io/zone",
                                                  "kubernetes.io/hostname"})},
                {"whenUnsatisfiable", dice_.Chance(85) ? "DoNotSchedule" : "ScheduleAnyway"}};
    if (dice_.Chance(95)) one["labelSelector"] = Selector();
    if (dice_.Chance(25)) one["minDomains"] = 1 + dice_.Below(4);
    if (dice_.Chance(30)) one["nodeAffinityPolicy"] = dice_.Pick<Text>({"Honor", "Ignore"});
    if (dice_.Chance(30)) one["nodeTaintsPolicy"] = dice_.Pick<Text>({"Honor", "Ignore"});
    if (dice_.Chance(25)) one["matchLabelKeys"] = Json::array({"tier", "absent"});
    constraints.push_back(std::move(one));
  }
  return constraints;
}

void RandomCluster::AddStatuses(Json& pod) {
  if (dice_.Chance(75)) return;
  Json& status = pod["status"];
  for (const char* list : {"containers", "initContainers"}) {
    if (!pod["spec"].contains(list)) continue;
    const Text into = Text(list) == "containers" ? "containerStatuses" : "initContainerStatuses";
    for (const Json& container : pod["spec"][list]) {
      Json one = {{"name", container["name"]},
                  {"image", "i"},
                  {"imageID", ""},
                  {"ready", true},
                  {"restartCount", 0}};
      if (dice_.Chance(80)) one["resources"]["requests"] = Amounts(dice_.Chance(20));
      if (dice_.Chance(60)) one["allocatedResources"] = Amounts(false);
      status[into].push_back(std::move(one));
    }
  }
  if (dice_.Chance(50)) {
    status["conditions"] =
        Json::array({{{"type", "PodResizePending"},
                      {"status", "True"},
                      {"reason", dice_.Pick<Text>({"Infeasible", "Deferred"})}}});
  }
}

Json RandomCluster::Pod(const Text& name, int richness) {
  const Text ns = dice_.Pick<Text>({"default", "default", "a", "b"});
  Json meta = Meta(name, ns);
  meta["labels"] = {{"app", dice_.Pick<Text>({"x", "y"})}};
  if (dice_.Chance(50)) meta["labels"]["tier"] = dice_.Pick<Text>({"front", "back"});
  Json spec = {{"containers", Containers("c", 1 + dice_.Below(2), false, richness)}};
  if (dice_.Chance(30))
    spec["initContainers"] = Containers("i", 1 + dice_.Below(3), true, richness);
  if (dice_.Chance(15)) spec["overhead"] = {{"cpu", "50m"}, {"memory", "30Mi"}};
  if (dice_.Chance(15)) {
    spec["resources"]["requests"] = {{"cpu", dice_.Pick<Text>({"500m", "2.5"})}, {"memory", "2Gi"}};
  }
  if (dice_.Chance(40)) spec["priority"] = dice_.Below(3);
  if (dice_.Chance(richness)) spec["tolerations"] = Tolerations();
  if (dice_.Chance(richness / 2)) spec["nodeSelector"]["disk"] = dice_.Pick<Text>({"ssd", "hdd"});
  Json affinity = Affinity(richness);
  if (!affinity.empty()) spec["affinity"] = std::move(affinity);
  if (dice_.Chance(richness)) spec["topologySpreadConstraints"] = Spread();
  Json volumes = Volumes(ns, richness);
  for (Json& volume : volumes) {
    if (volume.contains("ephemeral")) {
      AddEphemeralClaim(name + "-" + volume["name"].get<Text>(), ns, meta["uid"].get<Text>());
    }
  }
  if (!volumes.empty()) spec["volumes"] = std::move(volumes);
  return {{"metadata", std::move(meta)}, {"spec", std::move(spec)}, {"status", Json::object()}};
}

void RandomCluster::AddPodsOn(const Text& node) {
  for (int i = dice_.Below(4); i > 0; --i) {
    Json pod = Pod("pod-" + std::to_string(++serial_), 12);
    pod["spec"]["nodeName"] = node;
    if (dice_.Chance(15)) pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    AddStatuses(pod);
    objects_["pods"].push_back(std::move(pod));
  }
  if (!has_nominated_ || !dice_.Chance(50)) return;
  Json pod = Pod("nominated-" + std::to_string(++serial_), 12);
  pod["status"]["nominatedNodeName"] = node;
  objects_["pods"].push_back(std::move(pod));
}

std::string RandomQuantity(Dice& dice) {
  Text text = dice.Pick<Text>({"", "", "", "", "-", "+"});
  for (int i = dice.Below(dice.Chance(10) ? 22 : 6); i > 0; --i)
    text += std::to_string(dice.Below(10));
  if (dice.Chance(30)) {
    text += ".";
    for (int i = dice.Below(dice.Chance(20) ? 14 : 4); i > 0; --i)
      text += std::to_string(dice.Below(10));
  }
  if (dice.Chance(70)) {
    text +=
        dice.Pick<Text>({"n",  "u",  "m",  "k",  "M",  "G",   "T",   "P", "E", "Ki", "Mi", "Gi",
                         "Ti", "Pi", "Ei", "e3", "E2", "e-4", "e+1", "E", "e", "K",  "mi", " "});
  }
  if (dice.Chance(3)) text += dice.Pick<Text>({"m", ".", "3", "-"});
  return text;
}

}  // namespace muster::control
