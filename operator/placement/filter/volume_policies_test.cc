#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "operator/placement/cluster/storage.h"
#include "operator/placement/filter/attach_limit_policy.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"
#include "operator/placement/filter/volume_binding_policy.h"
#include "operator/placement/filter/volume_conflict_policy.h"
#include "operator/placement/filter/volume_zone_policy.h"

namespace muster::control {
namespace {

constexpr char kUsesData[] =
    "{'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}}]}";

// Two zones, and the claim "data" bound to a volume in the first.
class VolumePoliciesTest : public ::testing::Test {
 protected:
  VolumePoliciesTest() {
    world_.AddNode("n1", "{'topology.kubernetes.io/zone':'z1'}");
    world_.AddNode("n2", "{'topology.kubernetes.io/zone':'z2'}");
    world_.snapshot.SetStorageClass(
        Class("{'provisioner':'csi.a','volumeBindingMode':'Immediate'}", "now"));
    world_.snapshot.SetStorageClass(
        Class("{'provisioner':'csi.a','volumeBindingMode':'WaitForFirstConsumer'}", "wait"));
    world_.snapshot.SetStorageClass(Class(
        "{'provisioner':'kubernetes.io/no-provisioner','volumeBindingMode':'WaitForFirstConsumer'}",
        "local"));
    SetClaim("data", "{'volumeName':'pv','storageClassName':'now','accessModes':['ReadWriteOnce']}",
             true);
    SetVolume("pv", "z1");
  }

  static StorageClass Class(const std::string& text, const std::string& name) {
    Json json = FromText(text);
    json["metadata"]["name"] = name;
    return ParseStorageClass(json).value();
  }
  void SetClaim(const std::string& name, const std::string& spec, bool bound,
                const std::string& selected_node = "") {
    Json json = {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}},
                 {"spec", FromText(spec)}};
    if (bound) json["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
    if (!selected_node.empty()) {
      json["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = selected_node;
    }
    world_.snapshot.SetClaim(ParseVolumeClaim(json).value());
  }
  void SetVolume(const std::string& name, const std::string& zone, const std::string& size = "10Gi",
                 const std::string& storage_class = "now") {
    Json json = {{"metadata", {{"name", name}}},
                 {"spec",
                  {{"csi", {{"driver", "csi.a"}, {"volumeHandle", "h-" + name}}},
                   {"storageClassName", storage_class},
                   {"capacity", {{"storage", size}}},
                   {"accessModes", Json::array({"ReadWriteOnce"})}}},
                 {"status", {{"phase", "Available"}}}};
    json["spec"]["nodeAffinity"]["required"] = FromText(
        "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'topology.kubernetes.io/zone',"
        "'operator':'In','values':['" +
        zone + "']}]}]}");
    world_.snapshot.SetVolume(ParseVolume(json).value());
  }
  std::optional<NodeRefusal> Binding(const std::string& node, const SchedulingPod& pod) const {
    return VolumeBindingPolicy(pod, world_.snapshot).Check(world_.node(node));
  }

  FilterWorld world_;
};

TEST_F(VolumePoliciesTest, ABoundVolumeIsWhereItIs) {
  const SchedulingPod pod = PodOf("p", kUsesData);
  EXPECT_FALSE(Binding("n1", pod));
  EXPECT_EQ(Binding("n2", pod),
            (NodeRefusal{FilterReason::kVolumeBinding, "volume pv of claim data is elsewhere"}));
}

TEST_F(VolumePoliciesTest, ClaimsThatCannotBeUsedYet) {
  const SchedulingPod pod = PodOf("p", kUsesData);
  SetClaim("data", "{'storageClassName':'now'}", false);
  EXPECT_EQ(Binding("n1", pod),
            (NodeRefusal{FilterReason::kVolumeBinding, "claim data is not bound"}));
  world_.snapshot.RemoveClaim("default", "data");
  EXPECT_EQ(Binding("n1", pod),
            (NodeRefusal{FilterReason::kVolumeBinding, "claim data does not exist"}));
  const VolumeConflictPolicy conflicts(pod, world_.snapshot);
  EXPECT_EQ(conflicts.Check(world_.node("n1")),
            (NodeRefusal{FilterReason::kVolumeConflict, "claim data does not exist"}));
}

TEST_F(VolumePoliciesTest, AClaimThatWaitsTakesTheSmallestVolumeOrIsMade) {
  SetClaim("data",
           "{'storageClassName':'local','resources':{'requests':{'storage':'5Gi'}},"
           "'accessModes':['ReadWriteOnce']}",
           false);
  const SchedulingPod pod = PodOf("p", kUsesData);
  EXPECT_EQ(Binding("n1", pod),
            (NodeRefusal{FilterReason::kVolumeBinding, "no volume is free for claim data"}));
  SetVolume("large", "z1", "50Gi", "local");
  SetVolume("fitting", "z1", "6Gi", "local");
  SetVolume("small", "z1", "4Gi", "local");
  VolumeBindingPolicy::Found found;
  const VolumeBindingPolicy policy(pod, world_.snapshot);
  EXPECT_FALSE(policy.Find(*world_.node("n1").node, found));
  ASSERT_EQ(found.bind.size(), 1u);
  EXPECT_EQ(found.bind[0].second->name, "fitting");
  EXPECT_TRUE(found.provision.empty());
  EXPECT_TRUE(Binding("n2", pod));

  SetClaim("data", "{'storageClassName':'wait'}", false);
  VolumeBindingPolicy::Found made;
  EXPECT_FALSE(VolumeBindingPolicy(pod, world_.snapshot).Find(*world_.node("n2").node, made));
  ASSERT_EQ(made.provision.size(), 1u);
  EXPECT_EQ(made.provision[0]->name, "data");
}

TEST_F(VolumePoliciesTest, AVolumeThatIsBeingMadeForANodeKeepsThePodThere) {
  SetClaim("data", "{'storageClassName':'wait'}", false, "n1");
  const SchedulingPod pod = PodOf("p", kUsesData);
  EXPECT_FALSE(Binding("n1", pod));
  EXPECT_EQ(Binding("n2", pod),
            (NodeRefusal{FilterReason::kVolumeBinding, "claim data is being made for n1"}));
}

TEST_F(VolumePoliciesTest, AClaimForOnePodOnly) {
  SetClaim("data", "{'volumeName':'pv','accessModes':['ReadWriteOncePod']}", true);
  const SchedulingPod pod = PodOf("p", kUsesData);
  EXPECT_FALSE(VolumeConflictPolicy(pod, world_.snapshot).Check(world_.node("n1")));
  EXPECT_TRUE(VolumeConflictPolicy(pod, world_.snapshot).excludes_itself());
  world_.Bind(PodOf("there", kUsesData), "n2");
  const VolumeConflictPolicy taken(pod, world_.snapshot);
  EXPECT_EQ(taken.Check(world_.node("n1")),
            (NodeRefusal{FilterReason::kVolumeConflict, "a claim for one pod only is in use"}));
  world_.Unbind("there");
  EXPECT_FALSE(VolumeConflictPolicy(pod, world_.snapshot).Check(world_.node("n1")));
}

TEST_F(VolumePoliciesTest, ADiskIsSharedOnlyToBeRead) {
  const std::string writes = "{'volumes':[{'name':'v','gcePersistentDisk':{'pdName':'d'}}]}";
  const std::string reads =
      "{'volumes':[{'name':'v','gcePersistentDisk':{'pdName':'d','readOnly':true}}]}";
  world_.Bind(PodOf("there", reads), "n1");
  const SchedulingPod reader = PodOf("p", reads);
  const SchedulingPod writer = PodOf("p", writes);
  EXPECT_FALSE(VolumeConflictPolicy(reader, world_.snapshot).Check(world_.node("n1")));
  EXPECT_TRUE(VolumeConflictPolicy(writer, world_.snapshot).Check(world_.node("n1")));
  EXPECT_FALSE(VolumeConflictPolicy(writer, world_.snapshot).Check(world_.node("n2")));
}

TEST_F(VolumePoliciesTest, AttachLimitsCountEachVolumeOnce) {
  const auto limit = [&](int count) {
    const Json json = {
        {"metadata", {{"name", "n1"}}},
        {"spec",
         {{"drivers", Json::array({{{"name", "csi.a"}, {"allocatable", {{"count", count}}}}})}}}};
    world_.snapshot.SetAttachLimits(ParseAttachLimits(json).value());
  };
  SetClaim("other", "{'volumeName':'pv2'}", true);
  SetVolume("pv2", "z1");
  world_.Bind(
      PodOf("there", "{'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'other'}}]}"),
      "n1");
  const SchedulingPod pod = PodOf("p", kUsesData);
  const auto ask = [&] { return AttachLimitPolicy(pod, world_.snapshot).Check(world_.node("n1")); };
  EXPECT_FALSE(ask());
  limit(1);
  EXPECT_EQ(ask(), (NodeRefusal{FilterReason::kAttachLimit, "csi.a", 1, 0, 1}));
  limit(2);
  EXPECT_FALSE(ask());
  // The volume is still attached, though no pod uses it any more.
  SetVolume("pv3", "z1");
  world_.snapshot.SetAttachment({"a", "n1", "csi.a", "pv3"});
  EXPECT_EQ(ask(), (NodeRefusal{FilterReason::kAttachLimit, "csi.a", 1, 0, 2}));
  // The pod's own volume is there already.
  world_.snapshot.RemoveAttachment("a");
  limit(2);
  world_.Bind(PodOf("shares", kUsesData), "n1");
  EXPECT_FALSE(ask());
}

TEST_F(VolumePoliciesTest, ZonesOfAVolume) {
  Json json = {
      {"metadata", {{"name", "pv"}, {"labels", {{"topology.kubernetes.io/zone", "z2__z3"}}}}},
      {"spec", Json::object()}};
  world_.snapshot.SetVolume(ParseVolume(json).value());
  world_.AddNode("n3");
  const SchedulingPod pod = PodOf("p", kUsesData);
  const VolumeZonePolicy policy(pod, world_.snapshot);
  EXPECT_EQ(policy.Check(world_.node("n1")),
            (NodeRefusal{FilterReason::kVolumeZone, "its volumes are in z2"}));
  EXPECT_FALSE(policy.Check(world_.node("n2")));
  EXPECT_FALSE(policy.Check(world_.node("n3")));
}

}  // namespace
}  // namespace muster::control
