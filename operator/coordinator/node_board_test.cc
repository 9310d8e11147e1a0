#include "operator/coordinator/node_board.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/protocol.h"

namespace muster::control {
namespace {

class RecordedStream final : public AgentStream {
 public:
  absl::Status Send(EncodedMessage message) override {
    v1alpha1::OperatorMessage read;
    EXPECT_TRUE(read.ParseFromString(*message));
    sent.push_back(read);
    return absl::OkStatus();
  }
  void Close(const absl::Status& reason) override { closed = reason; }

  std::vector<v1alpha1::OperatorMessage> sent;
  absl::Status closed;
};

class NodeBoardTest : public testing::Test {
 protected:
  uint64_t Attach(const std::string& node, std::shared_ptr<RecordedStream> stream) {
    v1alpha1::NodeHello hello;
    hello.set_node(node);
    const auto id = board_.Attach(hello, std::move(stream));
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }
  static v1alpha1::AgentMessage Report(const std::string& driver) {
    v1alpha1::AgentMessage message;
    message.mutable_node_report()->set_driver_version(driver);
    return message;
  }

  ManualClock clock_{absl::UnixEpoch()};
  NodeBoard board_{clock_};
  std::shared_ptr<RecordedStream> stream_ = std::make_shared<RecordedStream>();
};

TEST_F(NodeBoardTest, AStandbyNamesTheLeader) {
  board_.SetStandby("10.0.0.1:7443");
  EXPECT_EQ(Attach("a", stream_), 0u);
  ASSERT_EQ(stream_->sent.size(), 1u);
  EXPECT_EQ(stream_->sent[0].not_leader().address(), "10.0.0.1:7443");
  EXPECT_TRUE(board_.Nodes().empty());
}

TEST_F(NodeBoardTest, AnAgentOfTheFirstReleaseGetsTheFirstProtocol) {
  board_.SetLeader();
  Attach("a", stream_);
  ASSERT_EQ(stream_->sent.size(), 1u);
  EXPECT_EQ(stream_->sent[0].welcome().protocol(), v1alpha1::kFirstProtocol);
}

TEST_F(NodeBoardTest, AnAgentThatSpeaksNoProtocolOfTheOperatorIsRefusedWithBothNamed) {
  board_.SetLeader();
  v1alpha1::NodeHello hello;
  hello.set_node("a");
  hello.mutable_protocols()->set_oldest(v1alpha1::kNewestProtocol + 1);
  hello.mutable_protocols()->set_newest(v1alpha1::kNewestProtocol + 2);
  const auto id = board_.Attach(hello, stream_);
  EXPECT_EQ(id.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(id.status().message(),
              testing::AllOf(testing::HasSubstr("speaks protocols 2 to 3"),
                             testing::HasSubstr("until the node agents are upgraded")));
  EXPECT_TRUE(board_.Nodes().empty());
}

TEST_F(NodeBoardTest, OnlyAReportThatDiffersRaisesTheVersion) {
  board_.SetLeader();
  const uint64_t id = Attach("a", stream_);
  ASSERT_EQ(stream_->sent.size(), 1u);
  EXPECT_EQ(stream_->sent[0].welcome().heartbeat_seconds(), 60);
  EXPECT_EQ(board_.Nodes().at("a").report, nullptr);
  EXPECT_TRUE(board_.Receive(id, Report("550")).ok());
  EXPECT_TRUE(board_.Receive(id, Report("550")).ok());
  EXPECT_EQ(board_.Nodes().at("a").version, 1);
  EXPECT_TRUE(board_.Receive(id, Report("560")).ok());
  EXPECT_EQ(board_.Nodes().at("a").version, 2);
  EXPECT_EQ(board_.Nodes().at("a").report->driver_version(), "560");
}

TEST_F(NodeBoardTest, AnythingHeardCountsAndAReportOutlivesItsStream) {
  board_.SetLeader();
  const uint64_t id = Attach("a", stream_);
  EXPECT_TRUE(board_.Receive(id, Report("550")).ok());
  clock_.Advance(absl::Minutes(3));
  v1alpha1::AgentMessage beat;
  beat.mutable_heartbeat();
  EXPECT_TRUE(board_.Receive(id, beat).ok());
  EXPECT_EQ(board_.Nodes().at("a").last_heard, clock_.Monotonic());
  board_.Detach(id);
  board_.Detach(id);
  EXPECT_TRUE(board_.Receive(id, Report("999")).ok());
  EXPECT_FALSE(board_.Nodes().at("a").attached);
  EXPECT_EQ(board_.Nodes().at("a").report->driver_version(), "550");
  EXPECT_EQ(board_.attached(), 0);
}

TEST_F(NodeBoardTest, TheUseOfGpusCountsForTwoHeartbeatsAndOnlyIfItCanBe) {
  const auto send = [&](uint64_t id, std::optional<double> use) {
    v1alpha1::AgentMessage message;
    message.mutable_node_power()->set_gpu_watts(300);
    if (use) message.mutable_node_power()->set_gpu_utilization(*use);
    EXPECT_TRUE(board_.Receive(id, message).ok());
    return board_.GpuUse("a");
  };
  board_.SetLeader();
  const uint64_t id = Attach("a", stream_);
  EXPECT_EQ(send(id, 0.0), 0.0);
  EXPECT_EQ(send(id, 0.25), 0.25);
  EXPECT_EQ(send(id, 1.5), std::nullopt);
  EXPECT_EQ(send(id, std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(send(id, 0.5), 0.5);
  EXPECT_EQ(send(id, std::nullopt), std::nullopt) << "an older agent does not say it";
  EXPECT_EQ(send(id, 0.5), 0.5);
  clock_.Advance(NodeBoard::kUseAge);
  EXPECT_EQ(board_.GpuUse("a"), 0.5);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(board_.GpuUse("a"), std::nullopt);
}

TEST_F(NodeBoardTest, APowerCountsUntilItIsOldAndIsNoReport) {
  const auto power = [](double watts) {
    v1alpha1::AgentMessage message;
    message.mutable_node_power()->set_gpu_watts(watts);
    return message;
  };
  board_.SetLeader();
  const uint64_t id = Attach("a", stream_);
  EXPECT_EQ(board_.GpuWatts("a"), std::nullopt);
  EXPECT_TRUE(board_.Receive(id, power(2800.5)).ok());
  EXPECT_EQ(board_.GpuWatts("a"), 2800.5);
  EXPECT_EQ(board_.GpuWatts("b"), std::nullopt);
  EXPECT_EQ(board_.Nodes().at("a").version, 0);
  for (const double absurd : {-1.0, 2e6, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(board_.Receive(id, power(absurd)).ok());
    EXPECT_EQ(board_.GpuWatts("a"), 2800.5);
  }
  clock_.Advance(NodeBoard::kPowerAge);
  EXPECT_EQ(board_.GpuWatts("a"), 2800.5);
  EXPECT_TRUE(board_.Receive(id, Report("550")).ok());
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(board_.GpuWatts("a"), std::nullopt);
}

TEST_F(NodeBoardTest, TheNewestStreamOfANodeCounts) {
  board_.SetLeader();
  const uint64_t old = Attach("a", stream_);
  const uint64_t id = Attach("a", std::make_shared<RecordedStream>());
  EXPECT_EQ(stream_->closed.message(), "another agent of this node has attached");
  EXPECT_TRUE(board_.Receive(old, Report("550")).ok());
  EXPECT_EQ(board_.Nodes().at("a").report, nullptr);
  board_.Detach(old);
  EXPECT_TRUE(board_.Nodes().at("a").attached);
  EXPECT_TRUE(board_.Receive(id, Report("560")).ok());
  EXPECT_EQ(board_.Nodes().at("a").version, 1);
}

TEST_F(NodeBoardTest, ALeaderThatStepsDownForgetsAllAndSaysWhoLeads) {
  board_.SetLeader();
  Attach("a", stream_);
  board_.SetStandby("10.0.0.2:7443");
  ASSERT_EQ(stream_->sent.size(), 2u);
  EXPECT_EQ(stream_->sent[1].not_leader().address(), "10.0.0.2:7443");
  EXPECT_EQ(stream_->closed.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(board_.Nodes().empty());
}

TEST_F(NodeBoardTest, AHelloWithoutANodeIsRefused) {
  board_.SetLeader();
  const auto id = board_.Attach({}, stream_);
  EXPECT_EQ(id.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(id.status().message(), "NodeHello.node: is empty");
}

}  // namespace
}  // namespace muster::control
