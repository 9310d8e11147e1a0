#include "operator/nodes/node_writer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_call.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/nodes/node_wish.h"

namespace muster::control {
namespace {

class SilentStream final : public AgentStream {
 public:
  absl::Status Send(EncodedMessage) override { return absl::OkStatus(); }
  void Close(const absl::Status&) override {}
};

class NodeWriterTest : public testing::Test {
 protected:
  NodeWriterTest() {
    kube::MemoryApiOptions options;
    options.random = [n = uint64_t{0}]() mutable { return ++n; };
    api_ = *kube::MemoryApi::Open(clock_, std::move(options));
    Json node = kube::NewObject(kube::kNodes, {"", "a"});
    node["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
    EXPECT_TRUE(api_->Create(kube::kNodes, node).ok());
    Json ready = Node();
    ready["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
    EXPECT_TRUE(api_->UpdateStatus(kube::kNodes, ready).ok());
    writer_ = std::make_unique<NodeWriter>(*api_, clock_, board_, nodes_);
    board_.SetLeader();
    writer_->Lead();
    Look();
  }
  Json Node() { return *api_->Get(kube::kNodes, {"", "a"}); }
  // Brings the cache up to date.
  void Look() { nodes_.Upsert(Node(), ++version_); }
  void Attach() {
    v1alpha1::NodeHello hello;
    hello.set_node("a");
    id_ = *board_.Attach(hello, std::make_shared<SilentStream>());
  }
  void Report(const std::string& fault = "") {
    v1alpha1::AgentMessage message;
    auto& gpu = *message.mutable_node_report()->add_gpus();
    gpu.set_uuid("GPU-a");
    gpu.set_product("NVIDIA H100");
    if (!fault.empty()) gpu.add_faults()->set_reason(fault);
    EXPECT_TRUE(board_.Receive(id_, message).ok());
  }
  void Announce(int64_t deadline_unix) {
    v1alpha1::AgentMessage message;
    auto& notice = *message.mutable_node_report()->mutable_notice();
    notice.set_kind("Reclaim");
    notice.set_who("AWS");
    notice.set_deadline_unix_ms(deadline_unix * 1000 + 999);
    EXPECT_TRUE(board_.Receive(id_, message).ok());
  }
  std::string Health() {
    const Json node = Node();
    for (const Json& condition : node["status"]["conditions"]) {
      if (condition["type"] != kGpuHealthyCondition) continue;
      return kube::StringAt(condition, {"status"}) + " " + kube::StringAt(condition, {"reason"});
    }
    return "";
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> api_;
  NodeBoard board_{clock_};
  NodeCache nodes_{ParseNodeRecord};
  uint64_t version_ = 0;
  std::unique_ptr<NodeWriter> writer_;
  uint64_t id_ = 0;
};

TEST_F(NodeWriterTest, AReportIsWrittenOnce) {
  Attach();
  Report();
  EXPECT_EQ(writer_->RunOnce(), 2);
  EXPECT_EQ(kube::LabelOf(Node(), kGpuProductLabel), "NVIDIA-H100");
  EXPECT_EQ(Health(), "True NoFault");
  const std::string version = kube::ResourceVersionOf(Node());
  EXPECT_EQ(writer_->RunOnce(), 0);
  Look();
  clock_.Advance(absl::Minutes(1));
  Report();
  EXPECT_EQ(writer_->RunOnce(), 0);
  EXPECT_EQ(kube::ResourceVersionOf(Node()), version);
}

TEST_F(NodeWriterTest, WhatAnotherWriterWasFasterThanIsWrittenByTheNextRun) {
  kube::FaultyApi contended(*api_, {});
  NodeWriter writer(contended, clock_, board_, nodes_);
  writer.Lead();
  Attach();
  Report("FatalXid");
  contended.FailNext(kube::Verb::kUpdateStatus,
                     kube::ApiError(kube::Reason::kConflict, "the object has been modified"));
  EXPECT_EQ(writer.RunOnce(), 1) << "the labels";
  EXPECT_EQ(Health(), "");
  EXPECT_EQ(writer.RunOnce(), 1);
  EXPECT_EQ(Health(), "False FatalXid");
}

TEST_F(NodeWriterTest, AFaultClosesTheNodeForPlacementAndIsTakenBack) {
  Attach();
  Report("FatalXid");
  EXPECT_EQ(writer_->RunOnce(), 2);
  EXPECT_EQ(Health(), "False FatalXid");
  Look();
  EXPECT_FALSE(nodes_.Get({"", "a"})->schedulable);
  Report();
  EXPECT_EQ(writer_->RunOnce(), 1);
  EXPECT_EQ(Health(), "True NoFault");
  Look();
  EXPECT_TRUE(nodes_.Get({"", "a"})->schedulable);
}

TEST_F(NodeWriterTest, ALabelThatSomebodyRemovesComesBack) {
  Attach();
  Report();
  writer_->RunOnce();
  ASSERT_TRUE(
      api_->PatchMetadata(kube::kNodes, {"", "a"}, {{"labels", {{kGpuProductLabel, nullptr}}}})
          .ok());
  Look();
  EXPECT_EQ(writer_->RunOnce(), 0) << "not at once";
  clock_.Advance(NodeWriter::kRetry);
  EXPECT_EQ(writer_->RunOnce(), 1);
  EXPECT_EQ(kube::LabelOf(Node(), kGpuProductLabel), "NVIDIA-H100");
}

TEST_F(NodeWriterTest, ASilentAgentMakesTheConditionUnknown) {
  Attach();
  Report();
  writer_->RunOnce();
  Look();
  clock_.Advance(NodeWriter::kSilence - absl::Seconds(1));
  EXPECT_EQ(writer_->RunOnce(), 0);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(writer_->RunOnce(), 1);
  EXPECT_EQ(Health(), "Unknown NodeAgentSilent");
  EXPECT_EQ(kube::LabelOf(Node(), kGpuProductLabel), "NVIDIA-H100");
  Look();
  EXPECT_TRUE(nodes_.Get({"", "a"})->schedulable);
  Report();
  EXPECT_EQ(writer_->RunOnce(), 1);
  EXPECT_EQ(Health(), "True NoFault");
}

TEST_F(NodeWriterTest, ANewLeaderWaitsForAgentsBeforeItCallsThemSilent) {
  Attach();
  Report();
  writer_->RunOnce();
  Look();
  NodeBoard other(clock_);
  other.SetLeader();
  NodeWriter successor(*api_, clock_, other, nodes_);
  EXPECT_EQ(successor.RunOnce(), 0) << "it does not lead yet";
  successor.Lead();
  EXPECT_EQ(successor.RunOnce(), 0);
  clock_.Advance(NodeWriter::kSilence);
  EXPECT_EQ(successor.RunOnce(), 1);
  EXPECT_EQ(Health(), "Unknown NodeAgentSilent");
}

TEST_F(NodeWriterTest, ANodeWithoutAnAgentIsLeftAlone) {
  const std::string version = kube::ResourceVersionOf(Node());
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(writer_->RunOnce(), 0);
  EXPECT_EQ(kube::ResourceVersionOf(Node()), version);
}

TEST_F(NodeWriterTest, ReportsAboutUnknownNodesAreNotWritten) {
  v1alpha1::NodeHello hello;
  hello.set_node("b");
  id_ = *board_.Attach(hello, std::make_shared<SilentStream>());
  Report();
  EXPECT_EQ(writer_->RunOnce(), 0);
}

TEST_F(NodeWriterTest, ANoticeBecomesLabelsAndIsTakenBackWithTheReport) {
  Attach();
  Announce(1'764'058'920);
  EXPECT_EQ(writer_->RunOnce(), 1);
  Look();
  EXPECT_EQ(nodes_.Get({"", "a"})->notice,
            (NodeNotice{"Reclaim", "AWS", absl::FromUnixSeconds(1'764'058'920)}));
  EXPECT_EQ(writer_->RunOnce(), 0);
  Report();
  writer_->RunOnce();
  Look();
  EXPECT_EQ(nodes_.Get({"", "a"})->notice, std::nullopt);
}

TEST_F(NodeWriterTest, ASilentAgentsNoticeIsTakenBackEvenByALeaderThatNeverHeardOfIt) {
  Attach();
  Announce(1'764'058'920);
  writer_->RunOnce();
  Look();
  board_.SetStandby("");
  board_.SetLeader();
  writer_->Lead();
  EXPECT_EQ(writer_->RunOnce(), 0);
  clock_.Advance(NodeWriter::kSilence);
  EXPECT_EQ(writer_->RunOnce(), 1);
  Look();
  EXPECT_EQ(nodes_.Get({"", "a"})->notice, std::nullopt);
}

TEST_F(NodeWriterTest, ANoticeIsWrittenBeforeAllThatCanWait) {
  for (int i = 0; i < 2 * NodeWriter::kNodesPerRun; ++i) {
    const std::string name = "a" + std::to_string(i);
    ASSERT_TRUE(api_->Create(kube::kNodes, kube::NewObject(kube::kNodes, {"", name})).ok());
    nodes_.Upsert(*api_->Get(kube::kNodes, {"", name}), ++version_);
    v1alpha1::NodeHello hello;
    hello.set_node(name);
    id_ = *board_.Attach(hello, std::make_shared<SilentStream>());
    Report();
  }
  const std::string last = "z";
  ASSERT_TRUE(api_->Create(kube::kNodes, kube::NewObject(kube::kNodes, {"", last})).ok());
  nodes_.Upsert(*api_->Get(kube::kNodes, {"", last}), ++version_);
  v1alpha1::NodeHello hello;
  hello.set_node(last);
  id_ = *board_.Attach(hello, std::make_shared<SilentStream>());
  Announce(1'764'058'920);
  writer_->RunOnce();
  EXPECT_EQ(kube::LabelOf(*api_->Get(kube::kNodes, {"", last}), kNoticeLabel), "Reclaim");
}

// A switch that starts anew makes the links of all its nodes flap.
TEST_F(NodeWriterTest, LinksThatFlapEverywhereCloseNoMoreThanAShareOfTheNodes) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back(absl::StrCat("rack-", i));
    ASSERT_TRUE(api_->Create(kube::kNodes, kube::NewObject(kube::kNodes, {"", names.back()})).ok());
    v1alpha1::NodeHello hello;
    hello.set_node(names.back());
    const uint64_t id = *board_.Attach(hello, std::make_shared<SilentStream>());
    v1alpha1::AgentMessage message;
    auto& port = *message.mutable_node_report()->add_infiniband_ports();
    port.set_device("mlx5_0");
    port.set_port(1);
    port.add_faults()->set_reason("LinkFlaps");
    board_.Receive(id, message);
  }
  const auto see = [&] {
    for (const std::string& name : names) {
      nodes_.Upsert(*api_->Get(kube::kNodes, {"", name}), ++version_);
    }
  };
  const auto count = [&](const char* status, const char* reason) {
    int found = 0;
    for (const std::string& name : names) {
      const Json node = *api_->Get(kube::kNodes, {"", name});
      const Json* health = FindCondition(node, kInfinibandHealthyCondition);
      found += health != nullptr && kube::StringAt(*health, {"status"}) == status &&
               kube::StringAt(*health, {"reason"}) == reason;
    }
    return found;
  };
  for (int run = 0; run < 3; ++run) {
    see();
    writer_->RunOnce();
    EXPECT_EQ(count("False", "LinkFlaps"), 2) << "a fifth of ten, in run " << run;
    EXPECT_EQ(count("Unknown", "TooManyAtOnce"), 8);
    clock_.Advance(NodeWriter::kRetry);
  }
}

}  // namespace
}  // namespace muster::control
