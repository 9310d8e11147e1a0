#include "operator/runtime/pod_sharing.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

PodRecord Pod(const std::string& name, const std::string& node, const std::string& job = "") {
  PodRecord pod;
  pod.key = {"default", name};
  pod.job = job;
  pod.requests.cpu_millis = 4000;
  pod.requests.slots = 1;
  pod.view.name = name;
  pod.view.uid = "uid-" + name;
  pod.view.node = node;
  pod.view.phase = PodPhase::kRunning;
  return pod;
}

TEST(PodSharingTest, PodsOfOthersThatTakeTheSameAreOneRecord) {
  PodSharing sharing;
  const auto a = sharing.Keep(Pod("a", "node-1"));
  const auto b = sharing.Keep(Pod("b", "node-1"));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a->requests, Pod("a", "node-1").requests);
  EXPECT_EQ(a->view.node, "node-1");
  EXPECT_EQ(a->view.phase, PodPhase::kRunning);
  EXPECT_TRUE(a->job.empty());
  EXPECT_NE(sharing.Keep(Pod("c", "node-2")), a);
  PodRecord larger = Pod("d", "node-1");
  larger.requests.gpus = 8;
  EXPECT_NE(sharing.Keep(larger), a);
  PodRecord ended = Pod("e", "node-1");
  ended.view.phase = PodPhase::kFailed;
  EXPECT_TRUE(sharing.Keep(ended)->ended());
  PodRecord elsewhere = Pod("f", "node-2");
  elsewhere.view.phase = PodPhase::kFailed;
  elsewhere.requests.gpus = 8;
  EXPECT_EQ(sharing.Keep(elsewhere), sharing.Keep(ended));
  EXPECT_EQ(sharing.Keep(elsewhere)->requests, Resources());
  EXPECT_FALSE(a->ended());
}

TEST(PodSharingTest, OursAreKeptWhole) {
  PodSharing sharing;
  const auto a = sharing.Keep(Pod("gpt-0-1", "node-1", "gpt"));
  const auto b = sharing.Keep(Pod("gpt-1-1", "node-1", "gpt"));
  EXPECT_EQ(a->key.name, "gpt-0-1");
  EXPECT_EQ(b->view.uid, "uid-gpt-1-1");
  EXPECT_EQ(sharing.size(), 0u);
}

TEST(PodSharingTest, RecordsThatNobodyHoldsAreForgotten) {
  PodSharing sharing;
  for (int i = 0; i < 10000; ++i) sharing.Keep(Pod("p", "node-" + std::to_string(i)));
  EXPECT_LE(sharing.size(), 1024u);
  const auto again = sharing.Keep(Pod("p", "node-5"));
  EXPECT_EQ(again->view.node, "node-5");
}

}  // namespace
}  // namespace muster::control
