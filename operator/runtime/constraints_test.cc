// What a template asks of its nodes, through the scheduling cycle over the embedded API.
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/reflector.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/storage_types.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/storage.h"
#include "operator/runtime/scheduler.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";

class ConstraintsTest : public testing::Test {
 protected:
  ConstraintsTest() {
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(3)]() mutable { return engine(); };
    memory_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
    scheduler_ = std::make_unique<Scheduler>(*memory_, clock_, jobs_, pods_, nodes_,
                                             [](const std::string&) {});
    kube::ReflectorSink* const sinks[] = {&jobs_, &pods_, &nodes_};
    const kube::ResourceType types[] = {kube::kTrainingJobs, kube::kPods, kube::kNodes};
    for (int i = 0; i < 3; ++i) {
      reflectors_.push_back(std::make_unique<kube::Reflector>(
          *memory_, types[i], kube::ReflectorOptions{}, *sinks[i], clock_));
    }
  }

  // Room for `pods` pods of one GPU.
  void AddNode(const std::string& name, int pods, const Json& labels = Json::object(),
               const Json& spec = Json::object()) {
    Json node = kube::NewObject(kube::kNodes, {"", name});
    kube::SetLabel(node, "kubernetes.io/hostname", name);
    for (const auto& [key, value] : labels.items())
      kube::SetLabel(node, key, value.get<std::string>());
    if (!spec.empty()) node["spec"] = spec;
    node = memory_->Create(kube::kNodes, node).value();
    node["status"] = {
        {"allocatable",
         {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "10"}, {"nvidia.com/gpu", absl::StrCat(pods)}}},
        {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
    ASSERT_TRUE(memory_->UpdateStatus(kube::kNodes, node).ok());
  }
  void Cordon(const std::string& name, bool cordoned = true) {
    Json node = memory_->Get(kube::kNodes, {"", name}).value();
    node["spec"]["unschedulable"] = cordoned;
    ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
  }
  // Two nodes in each of two zones.
  void AddZones(int pods) {
    for (const char* node : {"a0", "a1", "b0", "b1"}) {
      AddNode(node, pods, {{"zone", std::string(1, node[0])}});
    }
  }
  static Json PodSpec(const Json& more) {
    Json spec = {{"containers",
                  {{{"name", "worker"},
                    {"image", "x"},
                    {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}};
    spec.update(more);
    return spec;
  }
  // A job with all its pods, whose specs have `more`.
  void AddJob(const std::string& name, int count, const Json& more, const Json& topology = Json(),
              int min = 0) {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
    job["spec"] = {{"workers", {{"count", count}, {"min", min > 0 ? min : count}, {"gpus", 1}}}};
    if (!topology.is_null()) job["spec"]["topology"] = topology;
    job = memory_->Create(kube::kTrainingJobs, job).value();
    uid_ = kube::UidOf(job);
    for (int i = 0; i < count; ++i) {
      Json pod = kube::NewObject(kube::kPods, {"default", absl::StrCat(name, "-", i, "-1")});
      kube::SetLabel(pod, "muster.dev/job", name);
      kube::SetLabel(pod, "muster.dev/index", absl::StrCat(i));
      kube::SetLabel(pod, "muster.dev/incarnation", "1");
      kube::SetOwners(pod, {kube::ControllerReferenceTo(kube::kTrainingJobs, job)});
      pod["spec"] = PodSpec(more);
      pod["spec"]["schedulerName"] = "muster";
      ASSERT_TRUE(memory_->Create(kube::kPods, pod).ok());
    }
  }
  // Another scheduler's, on a node.
  void AddForeign(const std::string& name, const std::string& node, const std::string& app,
                  const Json& more = Json::object()) {
    Json pod = kube::NewObject(kube::kPods, {"default", name});
    kube::SetLabel(pod, "app", app);
    pod["spec"] = {{"nodeName", node}, {"containers", {{{"name", "c"}, {"image", "x"}}}}};
    pod["spec"].update(more);
    ASSERT_TRUE(memory_->Create(kube::kPods, pod).ok());
  }
  int RunOnce() {
    for (const auto& reflector : reflectors_) {
      while (reflector->RunOnce(absl::ZeroDuration()) > 0) {
      }
    }
    return scheduler_->RunOnce();
  }
  std::string NodeOf(const std::string& pod) {
    return kube::StringAt(memory_->Get(kube::kPods, {"default", pod}).value(),
                          {"spec", "nodeName"});
  }
  // How many pods of the job are on nodes whose names begin so.
  int PodsOn(const std::string& job, int count, const std::string& prefix) {
    int on = 0;
    for (int i = 0; i < count; ++i) {
      on += NodeOf(absl::StrCat(job, "-", i, "-1")).rfind(prefix, 0) == 0;
    }
    return on;
  }
  std::string Sentence() { return scheduler_->Verdict(uid_).sentence; }
  void SetClaim(VolumeClaim claim) {
    claim.ns = "default";
    claim.volume_mode = "Filesystem";
    scheduler_->Change([claim](ClusterSnapshot& to) { to.SetClaim(claim); });
  }

  static Json Affinity(const char* kind, const std::string& app, const std::string& key) {
    return {
        {"affinity",
         {{kind,
           {{kRequired,
             {{{"topologyKey", key}, {"labelSelector", {{"matchLabels", {{"app", app}}}}}}}}}}}}};
  }
  // To or from pods of the same job.
  static Json OwnAffinity(const char* kind, const std::string& job, const std::string& key) {
    Json affinity = Affinity(kind, "", key);
    affinity["affinity"][kind][kRequired][0]["labelSelector"] = {
        {"matchLabels", {{"muster.dev/job", job}}}};
    return affinity;
  }
  static Json Spread(const std::string& job, const std::string& key) {
    return {{"topologySpreadConstraints",
             {{{"maxSkew", 1},
               {"topologyKey", key},
               {"whenUnsatisfiable", "DoNotSchedule"},
               {"labelSelector", {{"matchLabels", {{"muster.dev/job", job}}}}}}}}};
  }
  static Json Claim(const std::string& name) {
    return {{"volumes", {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", name}}}}}}};
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> memory_;
  JobCache jobs_{ParseTrainingJob};
  PodCache pods_{ParsePodRecord};
  NodeCache nodes_{ParseNodeRecord};
  std::vector<std::unique_ptr<kube::Reflector>> reflectors_;
  std::unique_ptr<Scheduler> scheduler_;
  std::string uid_;
};

TEST_F(ConstraintsTest, NodeAffinityAndTaintsAreToldWithNumbers) {
  AddNode("a", 1, {{"disk", "slow"}});
  AddNode("b", 1, {{"disk", "fast"}}, {{"taints", {{{"key", "k"}, {"effect", "NoSchedule"}}}}});
  AddNode("c", 1, {{"disk", "slow"}});
  const Json fast = {
      {"affinity",
       {{"nodeAffinity",
         {{kRequired,
           {{"nodeSelectorTerms",
             {{{"matchExpressions",
                {{{"key", "disk"}, {"operator", "In"}, {"values", {"fast"}}}}}}}}}}}}}}};
  AddJob("gpt", 1, fast);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Sentence(),
            "none of the 3 nodes may be used now; nodes left out: 2 do not match the template's "
            "node affinity and 1 has the taint k:NoSchedule");
  Json node = memory_->Get(kube::kNodes, {"", "b"}).value();
  node["spec"].erase("taints");
  ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "b");
}

TEST_F(ConstraintsTest, AGangIsNearPodsOfOthersAndWaitsForThem) {
  AddZones(2);
  AddJob("gpt", 3, Affinity("podAffinity", "cache", "zone"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("4 are ruled out by affinity of pods"));
  AddForeign("cache", "b1", "cache");
  EXPECT_EQ(RunOnce(), 3);
  EXPECT_EQ(PodsOn("gpt", 3, "b"), 3);
}

TEST_F(ConstraintsTest, OthersKeepAGangAwayAndItKeepsAwayFromThem) {
  AddZones(2);
  AddForeign("shy", "a0", "shy", OwnAffinity("podAntiAffinity", "gpt", "zone"));
  AddForeign("noisy", "b0", "noisy");
  AddJob("gpt", 2, Affinity("podAntiAffinity", "noisy", "kubernetes.io/hostname"));
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "b1"), 2);
}

TEST_F(ConstraintsTest, MembersThatKeepApartGoToDomainsOfTheirOwn) {
  AddZones(4);
  AddJob("gpt", 2, OwnAffinity("podAntiAffinity", "gpt", "zone"));
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "a"), 1);
  EXPECT_EQ(PodsOn("gpt", 2, "b"), 1);
  AddJob("three", 3, OwnAffinity("podAntiAffinity", "three", "zone"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("its pods are in each other's way: after 2 of 3 workers"));
  EXPECT_EQ(scheduler_->Verdict(uid_).reason, "Constraints");
}

TEST_F(ConstraintsTest, MembersThatKeepTogetherShareADomain) {
  // Topology by itself would take both nodes of the zone with less room.
  AddNode("a0", 2, {{"zone", "a"}});
  AddNode("b0", 1, {{"zone", "b"}});
  AddNode("b1", 2, {{"zone", "b"}});
  AddNode("c0", 1, {{"zone", "c"}});
  AddJob("gpt", 3, OwnAffinity("podAffinity", "gpt", "zone"));
  EXPECT_EQ(RunOnce(), 3);
  EXPECT_EQ(PodsOn("gpt", 3, "b"), 3);
}

TEST_F(ConstraintsTest, AGangIsSpreadEvenly) {
  AddZones(4);
  AddJob("gpt", 6, Spread("gpt", "zone"));
  EXPECT_EQ(RunOnce(), 6);
  EXPECT_EQ(PodsOn("gpt", 6, "a"), 3);
  EXPECT_EQ(PodsOn("gpt", 6, "b"), 3);
}

// More of them on a node than the node would have had before the others went elsewhere.
TEST_F(ConstraintsTest, ASpreadOverHostsPutsSeveralOnEach) {
  AddNode("a0", 3);
  AddNode("a1", 3);
  AddJob("gpt", 4, Spread("gpt", "kubernetes.io/hostname"));
  EXPECT_EQ(RunOnce(), 4);
  EXPECT_EQ(PodsOn("gpt", 4, "a0"), 2);
}

TEST_F(ConstraintsTest, ASpreadWithinARequiredLevelTakesADomainThatHoldsAll) {
  const char* const leaf = "network.topology.nvidia.com/leaf";
  AddNode("a0", 1, {{leaf, "a"}, {"row", "1"}});
  for (const char* node : {"b0", "b1", "b2", "b3"}) {
    AddNode(node, 1, {{leaf, "b"}, {"row", node[1] < '2' ? "1" : "2"}});
  }
  AddJob("gpt", 4, Spread("gpt", "row"), {{"require", "leaf"}});
  EXPECT_EQ(RunOnce(), 4);
  EXPECT_EQ(PodsOn("gpt", 4, "b"), 4);
}

TEST_F(ConstraintsTest, AnElasticGangTakesWhatItsConstraintsAllow) {
  AddZones(4);
  AddJob("gpt", 4, OwnAffinity("podAntiAffinity", "gpt", "zone"), Json(), 2);
  EXPECT_EQ(RunOnce(), 2);
}

TEST_F(ConstraintsTest, AHostPortIsOnceOnANode) {
  AddNode("a", 4);
  AddNode("b", 4);
  AddNode("c", 4);
  const Json port = {{"hostNetwork", true}};
  AddForeign("web", "b", "web",
             {{"containers",
               {{{"name", "c"},
                 {"image", "x"},
                 {"ports", {{{"hostPort", 8080}, {"containerPort", 1}}}}}}}});
  Json wants = PodSpec(port);
  wants["containers"][0]["ports"] = {{{"containerPort", 8080}, {"hostPort", 8080}}};
  AddJob("gpt", 3, wants);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Sentence(),
            "room for 2 of at least 3 workers; fits now with workers.count <= 2; nodes left out: 1 "
            "has the host port 8080/TCP in use");
  AddNode("d", 1);
  EXPECT_EQ(RunOnce(), 3);
  EXPECT_EQ(PodsOn("gpt", 3, "b"), 0);
  // Now on all of them, whoever asks.
  AddJob("two", 1, wants);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("4 have the host port 8080/TCP in use"));
}

TEST_F(ConstraintsTest, OverheadSidecarsAndPodLevelRequestsCount) {
  AddNode("a", 4);
  AddForeign("big", "a", "x",
             {{"overhead", {{"cpu", "1"}}},
              {"initContainers",
               {{{"name", "s"},
                 {"image", "x"},
                 {"restartPolicy", "Always"},
                 {"resources", {{"requests", {{"cpu", "2"}}}}}}}},
              {"containers",
               {{{"name", "c"}, {"image", "x"}, {"resources", {{"requests", {{"cpu", "3"}}}}}}}}});
  AddJob("gpt", 1, {{"resources", {{"requests", {{"cpu", "3"}}}}}});
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("a worker asks for 1 GPU, 3 CPUs; the most that is free on one "
                                    "node is 2 CPUs"));
}

TEST_F(ConstraintsTest, WhoeverIsNominatedWithNoLowerPriorityIsWaitedFor) {
  AddNode("a", 1);
  Json vip = kube::NewObject(kube::kPods, {"default", "vip"});
  vip["spec"] = PodSpec({{"priority", 5}, {"schedulerName", "other"}});
  vip = memory_->Create(kube::kPods, vip).value();
  vip["status"]["nominatedNodeName"] = "a";
  ASSERT_TRUE(memory_->UpdateStatus(kube::kPods, vip).ok());
  AddJob("gpt", 1, Json::object());
  EXPECT_EQ(RunOnce(), 0);
  AddJob("higher", 1, {{"priority", 6}});
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("higher-0-1"), "a");
}

TEST_F(ConstraintsTest, ResourcesOfAnyNameCount) {
  AddNode("a", 4);
  Json wants = PodSpec(Json::object());
  wants["containers"][0]["resources"]["limits"]["rdma/hca"] = "1";
  AddJob("gpt", 1, wants);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 lacks rdma/hca (1 needed, at most 0 of 0 free)"));
}

TEST_F(ConstraintsTest, AVolumeKeepsAGangWhereItIs) {
  AddZones(2);
  VolumeClaim claim;
  claim.name = "data";
  AddJob("gpt", 2, Claim("data"));
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

TEST_F(ConstraintsTest, ANodeAttachesNoMoreVolumesThanItCan) {
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
  AddJob("gpt", 2, Claim("two"));
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "b"), 2);
}

TEST_F(ConstraintsTest, ResourceClaimsAreRefused) {
  AddNode("a", 4);
  AddJob("gpt", 1, {{"resourceClaims", {{{"name", "g"}, {"resourceClaimName", "x"}}}}});
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Sentence(), "the template has resourceClaims, which muster does not place yet");
}

// Claims of a class that waits for its first consumer: in the API and as the cluster shows them.
class VolumeWaitTest : public ConstraintsTest {
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
  // What a watch would show.
  void ShowClaim(const std::string& name) {
    const VolumeClaim claim = ParseVolumeClaim(Stored(name)).value();
    scheduler_->Change([claim](ClusterSnapshot& to) { to.SetClaim(claim); });
  }
  std::string SelectedNode(const std::string& name) {
    return kube::StringAt(Stored(name),
                          {"metadata", "annotations", "volume.kubernetes.io/selected-node"});
  }
  // As a provisioner does, for nodes of the zone.
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
  AddJob("gpt", 1, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(SelectedNode("data"), "a0");
  // The place is held: another gang of both nodes has to wait, one of the other node has not.
  AddJob("other", 2, Json::object());
  ShowClaim("data");
  EXPECT_EQ(RunOnce(), 0);
  Provision("data", "a");
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a0");
  EXPECT_EQ(RunOnce(), 0);
}

TEST_F(VolumeWaitTest, WhatIsNotBoundInTimeIsUndoneAndPlacedAgain) {
  AddClaim("data");
  AddJob("gpt", 1, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Sentence(),
            "its volumes are not there: claim data was not bound for node a0 within 5m");
  EXPECT_EQ(SelectedNode("data"), "");
  EXPECT_EQ(NodeOf("gpt-0-1"), "");
  AddJob("two", 2, Json::object());
  EXPECT_EQ(RunOnce(), 2);  // nothing is held any more
  clock_.Advance(absl::Seconds(11));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(SelectedNode("data"), "");
}

// Where a claim is for all, its volume decides when it is there.
TEST_F(VolumeWaitTest, AGangGoesWhereTheVolumeThatWasMadeCanBeReached) {
  AddNode("b1", 1, {{"zone", "b"}});
  AddClaim("data");
  Cordon("b1");
  AddJob("gpt", 2, Claim("data"));
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
  AddJob("gpt", 1, Claim("data"));
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
  // There is none for another claim.
  AddClaim("more");
  AddJob("two", 1, Claim("more"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("no volume is free for claim more"));
}

TEST_F(VolumeWaitTest, AGangThatGoesLeavesNothingHeld) {
  AddClaim("data");
  AddJob("gpt", 1, Claim("data"));
  EXPECT_EQ(RunOnce(), 0);
  kube::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  ASSERT_TRUE(memory_->Delete(kube::kPods, {"default", "gpt-0-1"}, at_once).ok());
  AddJob("two", 2, Json::object());
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(SelectedNode("data"), "");
}

// Memory of refusals: another job of the same shape, and one that only looks like it.
TEST_F(ConstraintsTest, ARefusalIsRememberedForGangsThatAskTheSameAlone) {
  AddNode("a", 1, Json::object(), {{"taints", {{{"key", "k"}, {"effect", "NoSchedule"}}}}});
  AddJob("one", 1, Json::object());
  AddJob("two", 1, {{"tolerations", {{{"key", "k"}, {"operator", "Exists"}}}}});
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("two-0-1"), "a");
}

TEST_F(ConstraintsTest, NodesThatLieAreCountedAndLeftOut) {
  AddNode("a", 4);
  Json node = memory_->Get(kube::kNodes, {"", "a"}).value();
  node["status"]["capacity"] = {{"nvidia.com/gpu", "2"}};
  ASSERT_TRUE(memory_->UpdateStatus(kube::kNodes, node).ok());
  AddJob("gpt", 1, Json::object());
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 says of itself what cannot be (allocatable nvidia.com/gpu "
                                    "is 4 of 2)"));
  EXPECT_EQ(scheduler_->NodeFaults(),
            (std::map<NodeFault, int64_t>{{NodeFault::kContradiction, 1}}));
}

}  // namespace
}  // namespace muster::control
