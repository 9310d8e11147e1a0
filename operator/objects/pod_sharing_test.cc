#include "operator/objects/pod_sharing.h"

#include <cstdint>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

SchedulingPod Holds(const std::string& name, const std::string& node, int64_t gpus = 0) {
  SchedulingPod pod;
  pod.ns = "default";
  pod.name = name;
  pod.uid = "uid-" + name;
  pod.labels = {{"app", "x"}};
  pod.node = node;
  pod.holds.cpu_millis = pod.requests.cpu_millis = 4000;
  if (gpus > 0) pod.holds.SetScalar("nvidia.com/gpu", gpus);
  return pod;
}

PodRecord Pod(const std::string& name, const std::string& node, const std::string& job = "",
              int64_t gpus = 0) {
  PodRecord pod;
  pod.key = {"default", name};
  pod.job = job;
  pod.scheduling = std::make_shared<const SchedulingPod>(Holds(name, node, gpus));
  PodView view;
  view.name = name;
  view.uid = "uid-" + name;
  view.node = node;
  view.phase = PodPhase::kRunning;
  pod.view = std::make_shared<const PodView>(std::move(view));
  return pod;
}

PodRecord Failed(PodRecord pod) {
  PodView view = *pod.view;
  view.phase = PodPhase::kFailed;
  pod.view = std::make_shared<const PodView>(std::move(view));
  return pod;
}

TEST(PodSharingTest, ForeignPodsWithTheSameNodeAndAmountsAreOneRecord) {
  PodSharing sharing;
  const auto a = sharing.Keep(Pod("a", "node-1"));
  const auto b = sharing.Keep(Pod("b", "node-1"));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a->scheduling->holds.cpu_millis, 4000);
  EXPECT_EQ(a->view->node, "node-1");
  EXPECT_EQ(a->view->phase, PodPhase::kRunning);
  EXPECT_TRUE(a->job.empty());
  EXPECT_NE(sharing.Keep(Pod("d", "node-1", "", 8)), a);
  const PodRecord ended = Failed(Pod("e", "node-1"));
  EXPECT_TRUE(sharing.Keep(ended)->ended());
  const PodRecord elsewhere = Failed(Pod("f", "node-2", "", 8));
  EXPECT_EQ(sharing.Keep(elsewhere), sharing.Keep(ended));
  EXPECT_EQ(sharing.Keep(elsewhere)->scheduling->holds, ResourceAmounts());
  EXPECT_FALSE(a->ended());
}

TEST(PodSharingTest, PodsOfOneTemplateShareWhatPlacementReadsWhereverTheyAre) {
  PodSharing sharing;
  const auto a = sharing.Keep(Pod("a", "node-1"));
  const auto b = sharing.Keep(Pod("b", "node-2"));
  EXPECT_NE(a, b);
  EXPECT_EQ(a->scheduling, b->scheduling);
  EXPECT_EQ(a->scheduling->labels.Value("app"), "x");
  PodRecord other = Pod("c", "node-1");
  SchedulingPod labelled = *other.scheduling;
  labelled.labels = {{"app", "y"}};
  other.scheduling = std::make_shared<const SchedulingPod>(labelled);
  EXPECT_EQ(sharing.Keep(other)->scheduling->labels.Value("app"), "y");
  // A pod that is nominated for a node differs from the others.
  PodRecord awaited = Pod("d", "");
  SchedulingPod nominated = Holds("d", "");
  nominated.nominated = "node-3";
  awaited.scheduling = std::make_shared<const SchedulingPod>(nominated);
  EXPECT_EQ(sharing.Keep(awaited)->scheduling->uid, "uid-d");
}

TEST(PodSharingTest, MustersOwnPodsAreKeptWhole) {
  PodSharing sharing;
  const auto a = sharing.Keep(Pod("gpt-0-1", "node-1", "gpt"));
  const auto b = sharing.Keep(Pod("gpt-1-1", "node-1", "gpt"));
  EXPECT_EQ(a->key.name, "gpt-0-1");
  EXPECT_EQ(b->view->uid, "uid-gpt-1-1");
  EXPECT_EQ(sharing.size(), 0u);
}

TEST(PodSharingTest, RecordsThatNobodyHoldsAreForgotten) {
  PodSharing sharing;
  for (int i = 0; i < 10000; ++i) sharing.Keep(Pod("p", "node-" + std::to_string(i)));
  EXPECT_LE(sharing.size(), 1024u);
  const auto again = sharing.Keep(Pod("p", "node-5"));
  EXPECT_EQ(again->view->node, "node-5");
}

}  // namespace
}  // namespace muster::control
