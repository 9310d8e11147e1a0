#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/conformance/conformance.h"

// Conformance tests of pods: defaults, binding, graceful deletion.
namespace muster::kube {
namespace {

constexpr char kNobody[] = "00000000-0000-4000-8000-000000000000";

TEST_P(ConformanceTest, APodStartsPendingWithDefaults) {
  const Json pod = MadePod("a");
  EXPECT_EQ(StringAt(pod, {"status", "phase"}), "Pending");
  EXPECT_EQ(StringAt(pod, {"spec", "restartPolicy"}), "Always");
  EXPECT_EQ(*Find(pod, {"spec", "terminationGracePeriodSeconds"}), 30);
}

TEST_P(ConformanceTest, APodNeedsAContainerWithAnImage) {
  Json pod = Pod("a");
  pod["spec"]["containers"] = Json::array();
  EXPECT_EQ(ReasonOf(api().Create(kPods, pod).status()), Reason::kInvalid);
  pod = Pod("a");
  pod["spec"]["containers"][0].erase("name");
  EXPECT_EQ(ReasonOf(api().Create(kPods, pod).status()), Reason::kInvalid);
}

TEST_P(ConformanceTest, APodWithAFieldThatPodsHaveNotIsRefusedAndTheFieldIsNamed) {
  Json mount = Pod("a");
  mount["spec"]["containers"][0]["volumeMount"] = Json::parse(R"([{"name": "data"}])");
  Json probe = Pod("a");
  probe["spec"]["containers"][0]["livenessProbe"] =
      Json::parse(R"({"httpGet": {"port": 80, "pth": "/"}})");
  Json toleration = Pod("a");
  toleration["spec"]["tolerations"] = Json::parse(R"([{"operator": "Exists"}, {"keys": "x"}])");
  const std::pair<Json, std::string> cases[] = {
      {mount, "spec.containers[0].volumeMount"},
      {probe, "spec.containers[0].livenessProbe.httpGet.pth"},
      {toleration, "spec.tolerations[1].keys"}};
  for (const auto& [pod, field] : cases) {
    const absl::Status status = api().Create(kPods, pod).status();
    EXPECT_EQ(ReasonOf(status), Reason::kBadRequest) << status;
    EXPECT_NE(status.message().find(absl::StrCat("unknown field \"", field, "\"")),
              absl::string_view::npos)
        << status;
    EXPECT_FALSE(Exists(kPods, "a"));
  }
}

TEST_P(ConformanceTest, APodWithFieldsOfEveryKindIsTaken) {
  Json pod = Pod("a");
  SetLabel(pod, "any.thing/goes", "here");
  Json& spec = pod["spec"];
  spec["nodeSelector"] = Json::parse(R"({"any.thing/goes": "here"})");
  spec["volumes"] = Json::parse(R"([
      {"name": "memory", "emptyDir": {"medium": "Memory"}},
      {"name": "several",
       "projected": {"sources": [{"configMap": {"name": "x", "optional": true}}]}}])");
  Json& container = spec["containers"][0];
  container["resources"] = Json::parse(R"({"limits": {"memory": "1Gi"}})");
  container["livenessProbe"] =
      Json::parse(R"({"exec": {"command": ["true"]}, "periodSeconds": 5})");
  container["env"] = Json::parse(R"([{"name": "X", "valueFrom": {
      "secretKeyRef": {"name": "s", "key": "k", "optional": true}}}])");
  Made(kPods, pod);
}

TEST_P(ConformanceTest, APodsSpecIsImmutable) {
  Json pod = MadePod("a");
  pod["spec"]["restartPolicy"] = "Never";
  EXPECT_EQ(ReasonOf(api().Update(kPods, pod).status()), Reason::kInvalid);
}

TEST_P(ConformanceTest, BindSetsTheNode) {
  MadePod("a");
  ASSERT_TRUE(api().Bind({Key("a"), "some-node", {}, {{"muster.dev/why", "test"}}}).ok());
  const Json pod = Stored(kPods, "a");
  EXPECT_EQ(StringAt(pod, {"spec", "nodeName"}), "some-node");
  EXPECT_EQ(AnnotationOf(pod, "muster.dev/why"), "test");
}

TEST_P(ConformanceTest, BindOfNothingIsNotFound) {
  EXPECT_EQ(ReasonOf(api().Bind({Key("absent"), "some-node", {}, {}})), Reason::kNotFound);
}

TEST_P(ConformanceTest, APodIsBoundOnce) {
  MadePod("a");
  ASSERT_TRUE(api().Bind({Key("a"), "first", {}, {}}).ok());
  const absl::Status again = api().Bind({Key("a"), "second", {}, {}});
  EXPECT_EQ(again.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(ReasonOf(again), Reason::kConflict);
  EXPECT_EQ(StringAt(Stored(kPods, "a"), {"spec", "nodeName"}), "first");
}

TEST_P(ConformanceTest, BindChecksUidAndResourceVersion) {
  const Json pod = MadePod("a");
  EXPECT_EQ(ReasonOf(api().Bind({Key("a"), "n", {kNobody, ""}, {}})), Reason::kConflict);
  ASSERT_TRUE(api().PatchMetadata(kPods, Key("a"), {{"labels", {{"a", "b"}}}}).ok());
  EXPECT_EQ(ReasonOf(api().Bind({Key("a"), "n", {UidOf(pod), ResourceVersionOf(pod)}, {}})),
            Reason::kConflict);
  const Json now = Stored(kPods, "a");
  EXPECT_EQ(StringAt(now, {"spec", "nodeName"}), "");
  EXPECT_TRUE(api().Bind({Key("a"), "n", {UidOf(now), ResourceVersionOf(now)}, {}}).ok());
}

TEST_P(ConformanceTest, ATerminatingPodIsNotBound) {
  Json pod = Pod("a");
  SetFinalizers(pod, {"muster.dev/test"});
  Made(kPods, pod);
  ASSERT_TRUE(api().Delete(kPods, Key("a")).ok());
  EXPECT_EQ(ReasonOf(api().Bind({Key("a"), "n", {}, {}})), Reason::kConflict);
  ASSERT_TRUE(api().PatchMetadata(kPods, Key("a"), {{"finalizers", nullptr}}).ok());
}

TEST_P(ConformanceTest, AnUnboundPodIsDeletedAtOnce) {
  MadePod("a");
  ASSERT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 60}).ok());
  EXPECT_FALSE(Exists(kPods, "a"));
}

TEST_P(ConformanceTest, ABoundPodStaysForItsGracePeriod) {
  BoundPod("a");
  ASSERT_TRUE(api().Delete(kPods, Key("a")).ok());
  const Json pod = Stored(kPods, "a");
  EXPECT_TRUE(IsTerminating(pod));
  EXPECT_EQ(DeletionGraceOf(pod), 30);
  EXPECT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 0}).ok());
  EXPECT_FALSE(Exists(kPods, "a"));
}

TEST_P(ConformanceTest, AGracePeriodOnlyEverGetsShorter) {
  BoundPod("a");
  ASSERT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 20}).ok());
  const Json first = Stored(kPods, "a");
  EXPECT_EQ(DeletionGraceOf(first), 20);
  EXPECT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 40}).ok());
  EXPECT_EQ(DeletionGraceOf(Stored(kPods, "a")), 20);
  EXPECT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 5}).ok());
  const Json shorter = Stored(kPods, "a");
  EXPECT_EQ(DeletionGraceOf(shorter), 5);
  EXPECT_EQ(*DeletionTimeOf(first) - *DeletionTimeOf(shorter), absl::Seconds(15));
  EXPECT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 0}).ok());
}

TEST_P(ConformanceTest, AFinishedPodIsDeletedAtOnce) {
  Json pod = BoundPod("a");
  pod["status"]["phase"] = "Failed";
  ASSERT_TRUE(api().UpdateStatus(kPods, pod).ok());
  ASSERT_TRUE(api().Delete(kPods, Key("a")).ok());
  EXPECT_FALSE(Exists(kPods, "a"));
}

TEST_P(ConformanceTest, AFinalizerOutlivesAPodsGracePeriod) {
  Json pod = Pod("a");
  SetFinalizers(pod, {"muster.dev/test"});
  Made(kPods, pod);
  ASSERT_TRUE(api().Bind({Key("a"), "n", {}, {}}).ok());
  ASSERT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 0}).ok());
  EXPECT_TRUE(Exists(kPods, "a"));
  ASSERT_TRUE(api().PatchMetadata(kPods, Key("a"), {{"finalizers", nullptr}}).ok());
  EXPECT_FALSE(Exists(kPods, "a"));
}

TEST_P(ConformanceTest, AFinalizerRemovedWithinTheGracePeriodDoesNotEndIt) {
  Json pod = Pod("a");
  SetFinalizers(pod, {"muster.dev/test"});
  Made(kPods, pod);
  ASSERT_TRUE(api().Bind({Key("a"), "n", {}, {}}).ok());
  ASSERT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 30}).ok());
  ASSERT_TRUE(api().PatchMetadata(kPods, Key("a"), {{"finalizers", nullptr}}).ok());
  EXPECT_TRUE(Exists(kPods, "a"));
  EXPECT_TRUE(api().Delete(kPods, Key("a"), {.grace_period_seconds = 0}).ok());
  EXPECT_FALSE(Exists(kPods, "a"));
}

}  // namespace
}  // namespace muster::kube
