// The volumes of a RandomCluster.
#include <string>
#include <utility>

#include "tests/differential/random_cluster.h"

namespace muster::control {
namespace {

using Text = std::string;

constexpr int kClaims = 6;  // in each namespace

// kube-scheduler compares the claims of nominated pods by name alone, ignoring namespaces, so names
// differ between namespaces here.
Text ClaimName(const Text& ns, int index) { return "claim-" + ns + "-" + std::to_string(index); }

}  // namespace

void RandomCluster::AddClasses() {
  const auto add = [&](const char* name, const char* provisioner, const char* mode) {
    Json storage_class = {{"metadata", Meta(name, "")}, {"provisioner", provisioner}};
    if (*mode != '\0') storage_class["volumeBindingMode"] = mode;
    return &objects_["classes"].emplace_back(std::move(storage_class));
  };
  add("now", "csi.a", "Immediate");
  add("unset", "csi.a", "");
  add("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
  add("old", "kubernetes.io/aws-ebs", "WaitForFirstConsumer");
  Json* wait = add("wait", "csi.a", "WaitForFirstConsumer");
  if (dice_.Chance(60)) {
    (*wait)["allowedTopologies"] = Json::array(
        {{{"matchLabelExpressions",
           Json::array({{{"key", "topology.kubernetes.io/zone"}, {"values", {"z1", "z2"}}}})}}});
  }
  add("counted", "csi.b", "WaitForFirstConsumer");
  objects_["drivers"].push_back(
      {{"metadata", Meta("csi.b", "")}, {"spec", {{"storageCapacity", true}}}});
  for (int i = 0; i < 2; ++i) {
    Json capacity = {{"metadata", Meta("capacity-" + std::to_string(i), "default")},
                     {"storageClassName", "counted"}};
    if (dice_.Chance(85)) capacity["capacity"] = dice_.Pick<Text>({"5Gi", "50Gi"});
    if (dice_.Chance(30)) capacity["maximumVolumeSize"] = dice_.Pick<Text>({"2Gi", "30Gi"});
    if (dice_.Chance(85))
      capacity["nodeTopology"] = {{"matchLabels", {{"rack", dice_.Pick<Text>({"r1", "r2"})}}}};
    objects_["capacities"].push_back(std::move(capacity));
  }
}

void RandomCluster::AddCsiNode(const Text& node) {
  if (dice_.Chance(20)) return;
  Json drivers = Json::array();
  for (const char* name : {"csi.a", "csi.b", "ebs.csi.aws.com"}) {
    if (!dice_.Chance(75)) continue;
    Json driver = {{"name", name}, {"nodeID", node}, {"topologyKeys", Json::array()}};
    if (dice_.Chance(85)) driver["allocatable"]["count"] = 1 + dice_.Below(3);
    drivers.push_back(std::move(driver));
  }
  objects_["csiNodes"].push_back(
      {{"metadata", Meta(node, "")}, {"spec", {{"drivers", std::move(drivers)}}}});
}

void RandomCluster::AddVolume(const Text& name, const Json& claim_ref, const Text& storage_class) {
  Json meta = Meta(name, "");
  if (dice_.Chance(50)) {
    meta["labels"][dice_.Pick<Text>(
        {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"})] =
        dice_.Pick<Text>({"z1", "z2", "z1__z2", "z1__", " z3", "z3__z2"});
  }
  if (dice_.Chance(30)) meta["labels"]["team"] = "a";
  if (dice_.Chance(3)) meta["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  Json spec = {{"capacity", {{"storage", std::to_string(1000 + dice_.Below(100000)) + "Mi"}}},
               {"accessModes", Json::array({dice_.Pick<Text>({"ReadWriteOnce", "ReadWriteMany"})})},
               {"storageClassName", storage_class}};
  if (dice_.Chance(80)) {
    spec["csi"] = {{"driver", dice_.Pick<Text>({"csi.a", "csi.b"})}, {"volumeHandle", "h-" + name}};
  } else {
    spec["hostPath"] = {{"path", "/x"}};
  }
  if (!claim_ref.is_null()) spec["claimRef"] = claim_ref;
  if (dice_.Chance(25)) {
    Json term = {{"matchExpressions", Json::array({Requirement(true)})}};
    spec["nodeAffinity"]["required"]["nodeSelectorTerms"] = Json::array({std::move(term)});
  }
  const bool attached = spec.contains("csi") && dice_.Chance(30);
  if (attached) {
    objects_["attachments"].push_back({{"metadata", Meta("attachment-" + name, "")},
                                       {"spec",
                                        {{"attacher", spec["csi"]["driver"]},
                                         {"nodeName", dice_.Pick(nodes_)},
                                         {"source", {{"persistentVolumeName", name}}}}}});
  }
  objects_["volumes"].push_back(
      {{"metadata", std::move(meta)},
       {"spec", std::move(spec)},
       {"status", {{"phase", claim_ref.is_null() && dice_.Chance(85) ? "Available" : "Bound"}}}});
}

void RandomCluster::AddClaim(const Text& ns, int index) {
  const Text name = ClaimName(ns, index);
  Json meta = Meta(name, ns);
  Json spec = {{"accessModes", Json::array({"ReadWriteOnce"})}};
  if (dice_.Chance(18)) spec["accessModes"] = Json::array({"ReadWriteOncePod"});
  if (dice_.Chance(90)) {
    spec["resources"]["requests"]["storage"] = std::to_string(1000 + dice_.Below(60000)) + "Mi";
  }
  Text phase = "Pending";
  if (dice_.Chance(75)) {
    const Text volume = "volume-of-" + name;
    spec["volumeName"] = volume;
    spec["storageClassName"] = "now";
    if (dice_.Chance(93)) meta["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
    phase = "Bound";
    if (dice_.Chance(94)) {
      AddVolume(volume, {{"namespace", ns}, {"name", name}, {"uid", meta["uid"]}}, "now");
    }
  } else {
    spec["storageClassName"] = dice_.Pick<Text>({"local", "local", "wait", "wait", "counted",
                                                 "counted", "old", "now", "gone", "unset", ""});
    if (dice_.Chance(15))
      meta["annotations"]["volume.kubernetes.io/selected-node"] = dice_.Pick(nodes_);
    if (dice_.Chance(15)) spec["selector"]["matchLabels"]["team"] = "a";
    if (dice_.Chance(10)) spec["volumeMode"] = "Block";
  }
  if (dice_.Chance(3)) phase = "Lost";
  if (dice_.Chance(3)) meta["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  objects_["claims"].push_back(
      {{"metadata", std::move(meta)}, {"spec", std::move(spec)}, {"status", {{"phase", phase}}}});
}

void RandomCluster::AddClaims() {
  for (const char* ns : {"default", "a", "b"}) {
    for (int i = 0; i < kClaims; ++i) AddClaim(ns, i);
  }
  for (int i = 0; i < 4; ++i) {
    AddVolume("free-" + std::to_string(i), Json(), dice_.Pick<Text>({"local", "local", "wait"}));
  }
}

void RandomCluster::AddEphemeralClaim(const Text& name, const Text& ns, const Text& uid) {
  if (dice_.Chance(15)) return;  // not created yet
  Json meta = Meta(name, ns);
  meta["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                          {"kind", "Pod"},
                                          {"name", "p"},
                                          {"uid", dice_.Chance(95) ? uid : "another"},
                                          {"controller", true}}});
  objects_["claims"].push_back(
      {{"metadata", std::move(meta)},
       {"spec", {{"accessModes", Json::array({"ReadWriteOnce"})}, {"storageClassName", "wait"}}},
       {"status", {{"phase", "Pending"}}}});
}

Json RandomCluster::Volumes(const Text& ns, int richness) {
  Json volumes = Json::array();
  if (!dice_.Chance(14 + richness)) return volumes;
  for (int i = dice_.Chance(30) ? 1 : 0; i >= 0; --i) {
    Json volume = {{"name", "v" + std::to_string(i)}};
    const int kind = dice_.Below(20);
    if (kind < 10) {
      const int last = dice_.Chance(4) ? kClaims : kClaims - 1;  // may name a missing claim
      volume["persistentVolumeClaim"]["claimName"] = ClaimName(ns, dice_.Below(last + 1));
    } else if (kind < 11) {
      volume["ephemeral"]["volumeClaimTemplate"]["spec"]["accessModes"] = {"ReadWriteOnce"};
    } else if (kind < 16) {
      volume["gcePersistentDisk"] = {{"pdName", dice_.Pick<Text>({"d1", "d2"})},
                                     {"readOnly", dice_.Chance(50)}};
    } else if (kind < 17) {
      volume["awsElasticBlockStore"] = {
          {"volumeID", dice_.Pick<Text>({"vol-1", "aws://zone/vol-2"})}};
    } else if (kind < 18) {
      volume["iscsi"] = {{"targetPortal", "p"},
                         {"lun", 0},
                         {"iqn", dice_.Pick<Text>({"q1", "q2"})},
                         {"readOnly", dice_.Chance(50)}};
    } else if (kind < 19) {
      volume["rbd"] = {{"monitors", Json::array({dice_.Pick<Text>({"m1", "m2"}), "m3"})},
                       {"pool", "rbd"},
                       {"image", dice_.Pick<Text>({"i1", "i2"})},
                       {"readOnly", dice_.Chance(50)}};
    } else {
      volume["emptyDir"] = Json::object();
    }
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

}  // namespace muster::control
