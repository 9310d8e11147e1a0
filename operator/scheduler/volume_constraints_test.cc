// Constraints of volumes of a template's claims on its nodes, through the scheduling cycle over the
// embedded API.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/storage_types.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/storage.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class VolumesTest : public SchedulerFixture {
 protected:
  void SetClaim(VolumeClaim claim) {
    claim.ns = "default";
    claim.volume_mode = "Filesystem";
    scheduler_->Change([claim](ClusterSnapshot& to) { to.SetClaim(claim); });
  }
  // The claim "data", bound to a ReadWriteOnce volume of this driver.
  void SetSharedClaim(const std::string& driver) {
    VolumeClaim claim;
    claim.name = "data";
    claim.volume = "pv";
    claim.bind_completed = true;
    claim.access_modes = {"ReadWriteOnce"};
    SetClaim(claim);
    Volume volume;
    volume.name = "pv";
    volume.csi_driver = driver;
    volume.csi_handle = "one";
    scheduler_->Change([volume](ClusterSnapshot& to) { to.SetVolume(volume); });
  }
  static Json Claim(const std::string& name) {
    return {{"volumes", {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", name}}}}}}};
  }
};

TEST_F(VolumesTest, AVolumeKeepsAGangWhereItIs) {
  AddZones(2);
  VolumeClaim claim;
  claim.name = "data";
  AddJobWithPods("gpt", 2, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("4 cannot have the volumes (claim data does not exist)"));
  claim.volume = "pv";
  SetClaim(claim);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("claim data is not bound"));
  Volume volume;
  volume.name = "pv";
  volume.node_affinity = {{true, {{"zone", SelectorOperator::kIn, {"b"}}}, {}}};
  scheduler_->Change([volume](ClusterSnapshot& to) { to.SetVolume(volume); });
  claim.bind_completed = true;
  SetClaim(claim);
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "b"), 2);
}

TEST_F(VolumesTest, ANodeAttachesNoMoreVolumesThanItCan) {
  AddNode("a", 4);
  AddNode("b", 4);
  for (const char* name : {"one", "two"}) {
    VolumeClaim claim;
    claim.name = name;
    claim.volume = absl::StrCat("pv-", name);
    claim.bind_completed = true;
    SetClaim(claim);
    Volume volume;
    volume.name = claim.volume;
    volume.csi_driver = "csi";
    volume.csi_handle = name;
    scheduler_->Change([volume](ClusterSnapshot& to) { to.SetVolume(volume); });
  }
  scheduler_->Change([](ClusterSnapshot& to) {
    for (const char* node : {"a", "b"}) to.SetAttachLimits({node, {{"csi", 1}}});
  });
  AddForeign("uses", "a", "x", Claim("one"));
  AddJobWithPods("gpt", 2, Claim("two"));
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "b"), 2);
}

// kube-scheduler would spread the workers, and those on all but one node would wait for the volume
// for ever.
TEST_F(VolumesTest, WorkersThatShareAVolumeOfOneNodeGoToOneNode) {
  AddNode("a", 1);
  AddNode("b", 1);
  SetSharedClaim("csi");
  scheduler_->Change([](ClusterSnapshot& to) {
    for (const char* node : {"a", "b", "c"}) to.SetAttachLimits({node, {{"csi", 8}}});
  });
  AddJobWithPods("gpt", 2, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("claim data is in use on another node"));
  AddNode("c", 2);
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "c"), 2);
}

TEST_F(VolumesTest, AVolumeThatIsNotAttachedIsSharedByNodes) {
  AddNode("a", 1);
  AddNode("b", 1);
  SetSharedClaim("nfs.csi.k8s.io");
  scheduler_->Change([](ClusterSnapshot& to) {
    for (const char* node : {"a", "b"}) to.SetAttachLimits({node, {}});
  });
  AddJobWithPods("gpt", 2, Claim("data"));
  EXPECT_EQ(RunOnce(), 2);
}

// Claims of a class that waits for its first consumer: in the API and as the cluster shows them.
class VolumeWaitTest : public VolumesTest {
 protected:
  VolumeWaitTest() {
    for (const char* zone : {"a", "b"}) AddNode(absl::StrCat(zone, "0"), 1, {{"zone", zone}});
    StorageClass late;
    late.name = "late";
    late.provisioner = "csi";
    late.binding = BindingMode::kWaitForFirstConsumer;
    scheduler_->Change([late](ClusterSnapshot& to) { to.SetStorageClass(late); });
  }
  void AddClaim(const std::string& name) {
    Json claim = kube::NewObject(kube::kVolumeClaims, {"default", name});
    claim["spec"] = {{"storageClassName", "late"}, {"accessModes", {"ReadWriteMany"}}};
    ASSERT_TRUE(memory_->Create(kube::kVolumeClaims, claim).ok());
    ShowClaim(name);
  }
  Json Stored(const std::string& name) {
    return memory_->Get(kube::kVolumeClaims, {"default", name}).value();
  }
  // Shows the claim to the scheduler, as a watch would.
  void ShowClaim(const std::string& name) {
    const VolumeClaim claim = ParseVolumeClaim(Stored(name)).value();
    scheduler_->Change([claim](ClusterSnapshot& to) { to.SetClaim(claim); });
  }
  std::string SelectedNode(const std::string& name) {
    return kube::StringAt(Stored(name),
                          {"metadata", "annotations", "volume.kubernetes.io/selected-node"});
  }
  // Makes a volume for the claim, reachable from nodes of the zone, as a provisioner does.
  void Provision(const std::string& name, const std::string& zone) {
    Volume volume;
    volume.name = "pv-" + name;
    volume.node_affinity = {{true, {{"zone", SelectorOperator::kIn, {zone}}}, {}}};
    scheduler_->Change([volume](ClusterSnapshot& to) { to.SetVolume(volume); });
    Json claim = Stored(name);
    claim["spec"]["volumeName"] = volume.name;
    claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
    ASSERT_TRUE(memory_->Update(kube::kVolumeClaims, claim).ok());
    ShowClaim(name);
  }
};

TEST_F(VolumeWaitTest, NoPodIsBoundBeforeTheClaimsAre) {
  AddClaim("data");
  AddJobWithPods("gpt", 1, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(SelectedNode("data"), "a0");
  // The place is held: another gang that needs both nodes has to wait, one that needs the other
  // node does not.
  AddJobWithPods("other", 2, Json::object());
  ShowClaim("data");
  EXPECT_EQ(RunOnce(), 0);
  Provision("data", "a");
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a0");
  EXPECT_EQ(RunOnce(), 0);
}

TEST_F(VolumeWaitTest, WhatIsNotBoundInTimeIsUndoneAndPlacedAgain) {
  AddClaim("data");
  AddJobWithPods("gpt", 1, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Sentence(),
            "its volumes are not there: claim data was not bound for node a0 within 5m");
  EXPECT_EQ(SelectedNode("data"), "");
  EXPECT_EQ(NodeOf("gpt-0-1"), "");
  AddJobWithPods("two", 2, Json::object());
  EXPECT_EQ(RunOnce(), 2);  // nothing is held any more
  clock_.Advance(absl::Seconds(11));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(SelectedNode("data"), "");
}

// The volume of a claim shared by all workers decides, once it exists.
TEST_F(VolumeWaitTest, AGangGoesWhereTheVolumeThatWasMadeCanBeReached) {
  AddNode("b1", 1, {{"zone", "b"}});
  AddClaim("data");
  Cordon("b1");
  AddJobWithPods("gpt", 2, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  Cordon("b1", false);
  Provision("data", "b");
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("volume pv-data of claim data is elsewhere"));
  clock_.Advance(absl::Seconds(11));
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "b"), 2);
}

TEST_F(VolumeWaitTest, AVolumeThatExistsIsGivenAndOnlyOnce) {
  Json pv = kube::NewObject(kube::kVolumes, {"", "local-a"});
  pv["spec"] = {{"storageClassName", "late"},
                {"accessModes", {"ReadWriteMany"}},
                {"capacity", {{"storage", "1Gi"}}},
                {"nodeAffinity",
                 {{"required",
                   {{"nodeSelectorTerms",
                     {{{"matchExpressions",
                        {{{"key", "zone"}, {"operator", "In"}, {"values", {"a"}}}}}}}}}}}}};
  pv["status"] = {{"phase", "Available"}};
  pv = memory_->Create(kube::kVolumes, pv).value();
  Volume volume = ParseVolume(pv).value();
  volume.available = true;
  StorageClass late;
  late.name = "late";
  late.provisioner = "kubernetes.io/no-provisioner";
  late.binding = BindingMode::kWaitForFirstConsumer;
  scheduler_->Change([volume, late](ClusterSnapshot& to) {
    to.SetVolume(volume);
    to.SetStorageClass(late);
  });
  AddClaim("data");
  AddJobWithPods("gpt", 1, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  pv = memory_->Get(kube::kVolumes, {"", "local-a"}).value();
  EXPECT_EQ(kube::StringAt(pv, {"spec", "claimRef", "name"}), "data");
  EXPECT_EQ(kube::StringAt(pv, {"spec", "claimRef", "uid"}), kube::UidOf(Stored("data")));
  volume = ParseVolume(pv).value();
  scheduler_->Change([volume](ClusterSnapshot& to) { to.SetVolume(volume); });
  // The controller binds the claim.
  Json claim = Stored("data");
  claim["spec"]["volumeName"] = "local-a";
  claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
  ASSERT_TRUE(memory_->Update(kube::kVolumeClaims, claim).ok());
  ShowClaim("data");
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a0");
  // There is no volume for another claim.
  AddClaim("more");
  AddJobWithPods("two", 1, Claim("more"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("no volume is free for claim more"));
}

// The claim of a replacement may take minutes, and the others hold their nodes.
TEST_F(VolumeWaitTest, AGangBoundInPartIsUndoneWhileTheRestWaitsForAVolume) {
  AddClaim("data");
  AddJob("gpt", 2, 2);
  AddPod("gpt", 0);
  AddPod("gpt", 1);
  api_->FailNext(kube::Verb::kBind, absl::ResourceExhaustedError("slow down"));
  EXPECT_EQ(RunOnce(), 1);
  const int left = NodeOf("gpt-0-1").empty() ? 0 : 1;
  DeletePod(absl::StrCat("gpt-", left, "-1"));
  AddPod("gpt", left, 2, Claim("data"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_NE(SelectedNode("data"), "");
  clock_.Advance(absl::Seconds(6));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(scheduler_->undone(), 1);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(SelectedNode("data"), "") << "nothing is held for it either";
}

TEST_F(VolumeWaitTest, AGangThatGoesLeavesNothingHeld) {
  AddClaim("data");
  AddJobWithPods("gpt", 1, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  DeletePod("gpt-0-1");
  AddJobWithPods("two", 2, Json::object());
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(SelectedNode("data"), "");
}

}  // namespace
}  // namespace muster::control
