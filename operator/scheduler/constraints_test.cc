// Constraints of a template on its nodes, through the scheduling cycle over the embedded API.
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";

class ConstraintsTest : public SchedulerFixture {
 protected:
  static Json Affinity(const char* kind, const std::string& app, const std::string& key) {
    return {
        {"affinity",
         {{kind,
           {{kRequired,
             {{{"topologyKey", key}, {"labelSelector", {{"matchLabels", {{"app", app}}}}}}}}}}}}};
  }
  // An affinity to, or anti-affinity from, pods of the same job.
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
};

TEST_F(ConstraintsTest, NodeAffinityAndTaintsAreReportedWithNumbers) {
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
  AddJobWithPods("gpt", 1, fast);
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
  AddJobWithPods("gpt", 3, Affinity("podAffinity", "cache", "zone"));
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
  AddJobWithPods("gpt", 2, Affinity("podAntiAffinity", "noisy", "kubernetes.io/hostname"));
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "b1"), 2);
}

TEST_F(ConstraintsTest, MembersThatKeepApartGoToDomainsOfTheirOwn) {
  AddZones(4);
  AddJobWithPods("gpt", 2, OwnAffinity("podAntiAffinity", "gpt", "zone"));
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "a"), 1);
  EXPECT_EQ(PodsOn("gpt", 2, "b"), 1);
  AddJobWithPods("three", 3, OwnAffinity("podAntiAffinity", "three", "zone"));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("its pods are in each other's way: after 2 of 3 workers"));
  EXPECT_EQ(scheduler_->verdicts().Of(uid()).reason, "Constraints");
}

TEST_F(ConstraintsTest, MembersThatKeepTogetherShareADomain) {
  // Topology by itself would take both nodes of the zone with less room.
  AddNode("a0", 2, {{"zone", "a"}});
  AddNode("b0", 1, {{"zone", "b"}});
  AddNode("b1", 2, {{"zone", "b"}});
  AddNode("c0", 1, {{"zone", "c"}});
  AddJobWithPods("gpt", 3, OwnAffinity("podAffinity", "gpt", "zone"));
  EXPECT_EQ(RunOnce(), 3);
  EXPECT_EQ(PodsOn("gpt", 3, "b"), 3);
}

TEST_F(ConstraintsTest, AGangIsSpreadEvenly) {
  AddZones(4);
  AddJobWithPods("gpt", 6, Spread("gpt", "zone"));
  EXPECT_EQ(RunOnce(), 6);
  EXPECT_EQ(PodsOn("gpt", 6, "a"), 3);
  EXPECT_EQ(PodsOn("gpt", 6, "b"), 3);
}

// A node takes more pods than it could have taken before the others were placed elsewhere.
TEST_F(ConstraintsTest, ASpreadOverHostsPutsSeveralOnEach) {
  AddNode("a0", 3);
  AddNode("a1", 3);
  AddJobWithPods("gpt", 4, Spread("gpt", "kubernetes.io/hostname"));
  EXPECT_EQ(RunOnce(), 4);
  EXPECT_EQ(PodsOn("gpt", 4, "a0"), 2);
}

TEST_F(ConstraintsTest, ASpreadWithinARequiredLevelTakesADomainThatHoldsAll) {
  const char* const leaf = "network.topology.nvidia.com/leaf";
  AddNode("a0", 1, {{leaf, "a"}, {"row", "1"}});
  for (const char* node : {"b0", "b1", "b2", "b3"}) {
    AddNode(node, 1, {{leaf, "b"}, {"row", node[1] < '2' ? "1" : "2"}});
  }
  AddJobWithPods("gpt", 4, Spread("gpt", "row"), {{"require", "leaf"}});
  EXPECT_EQ(RunOnce(), 4);
  EXPECT_EQ(PodsOn("gpt", 4, "b"), 4);
}

TEST_F(ConstraintsTest, AnElasticGangTakesWhatItsConstraintsAllow) {
  AddZones(4);
  AddJobWithPods("gpt", 4, OwnAffinity("podAntiAffinity", "gpt", "zone"), Json(), 2);
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
  AddJobWithPods("gpt", 3, wants);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Sentence(),
            "room for 2 of at least 3 workers; fits now with workers.count <= 2; nodes left out: 1 "
            "has the host port 8080/TCP in use");
  AddNode("d", 1);
  EXPECT_EQ(RunOnce(), 3);
  EXPECT_EQ(PodsOn("gpt", 3, "b"), 0);
  // The port is in use on all nodes now, for any job.
  AddJobWithPods("two", 1, wants);
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
  AddJobWithPods("gpt", 1, {{"resources", {{"requests", {{"cpu", "3"}}}}}});
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("a worker asks for 1 GPU, 3 CPUs; the most that is free on one "
                                    "node is 2 CPUs"));
}

TEST_F(ConstraintsTest, PodsNominatedWithNoLowerPriorityAreWaitedFor) {
  AddNode("a", 1);
  Json vip = kube::NewObject(kube::kPods, {"default", "vip"});
  vip["spec"] = PodSpec({{"priority", 5}, {"schedulerName", "other"}});
  vip = memory_->Create(kube::kPods, vip).value();
  vip["status"]["nominatedNodeName"] = "a";
  ASSERT_TRUE(memory_->UpdateStatus(kube::kPods, vip).ok());
  AddJobWithPods("gpt", 1, Json::object());
  EXPECT_EQ(RunOnce(), 0);
  AddJobWithPods("higher", 1, {{"priority", 6}});
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("higher-0-1"), "a");
}

TEST_F(ConstraintsTest, ResourcesOfAnyNameCount) {
  AddNode("a", 4);
  Json wants = PodSpec(Json::object());
  wants["containers"][0]["resources"]["limits"]["rdma/hca"] = "1";
  AddJobWithPods("gpt", 1, wants);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 lacks rdma/hca (1 needed, at most 0 of 0 free)"));
}

TEST_F(ConstraintsTest, ResourceClaimsAreRefused) {
  AddNode("a", 4);
  AddJobWithPods("gpt", 1, {{"resourceClaims", {{{"name", "g"}, {"resourceClaimName", "x"}}}}});
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Sentence(), "the template has resourceClaims, which muster does not place yet");
}

// Job `two` differs from `one` only in its tolerations, so the refusal of `one` does not hold for
// it.
TEST_F(ConstraintsTest, ARefusalIsRememberedForGangsThatAskTheSameAlone) {
  AddNode("a", 1, Json::object(), {{"taints", {{{"key", "k"}, {"effect", "NoSchedule"}}}}});
  AddJobWithPods("one", 1, Json::object());
  AddJobWithPods("two", 1, {{"tolerations", {{{"key", "k"}, {"operator", "Exists"}}}}});
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("two-0-1"), "a");
}

TEST_F(ConstraintsTest, FaultyNodesAreCountedAndLeftOut) {
  AddNode("a", 4);
  Json node = memory_->Get(kube::kNodes, {"", "a"}).value();
  node["status"]["capacity"] = {{"nvidia.com/gpu", "2"}};
  ASSERT_TRUE(memory_->UpdateStatus(kube::kNodes, node).ok());
  AddJobWithPods("gpt", 1, Json::object());
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 is set aside (allocatable nvidia.com/gpu is 4 of 2)"));
  EXPECT_EQ(scheduler_->NodeFaults(),
            (std::map<NodeFault, int64_t>{{NodeFault::kContradiction, 1}}));
}

}  // namespace
}  // namespace muster::control
