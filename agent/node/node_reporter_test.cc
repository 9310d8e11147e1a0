#include "agent/node/node_reporter.h"

#include <string>

#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/agent_limits.h"
#include "proto/muster/v1alpha1/protocol.h"

namespace muster::agent {
namespace {

v1alpha1::NodePower PowerOf(double watts) {
  v1alpha1::NodePower power;
  power.set_gpu_watts(watts);
  return power;
}

class NodeReporterTest : public testing::Test {
 protected:
  static v1alpha1::OperatorMessage Welcome(double heartbeat = 60) {
    v1alpha1::OperatorMessage message;
    message.mutable_welcome()->set_heartbeat_seconds(heartbeat);
    return message;
  }
  static v1alpha1::NodeReport Report(const std::string& driver) {
    v1alpha1::NodeReport report;
    report.set_driver_version(driver);
    return report;
  }

  absl::Time now_ = absl::UnixEpoch();
  NodeReporter reporter_{"gpu-7", "u1"};
};

TEST_F(NodeReporterTest, AStreamBeginsWithTheNodesName) {
  const auto said = reporter_.StreamOpened();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].node_hello().node(), "gpu-7");
  EXPECT_EQ(said[0].node_hello().pod_uid(), "u1");
  EXPECT_NE(said[0].node_hello().version(), "");
  EXPECT_EQ(said[0].node_hello().protocols().newest(), v1alpha1::kNewestProtocol);
}

TEST_F(NodeReporterTest, AWelcomeToAProtocolThatItDoesNotSpeakIsNone) {
  reporter_.StreamOpened();
  reporter_.Observed(Report("550"), now_);
  v1alpha1::OperatorMessage other = Welcome();
  other.mutable_welcome()->set_protocol(v1alpha1::kNewestProtocol + 1);
  EXPECT_TRUE(reporter_.Heard(other, now_).empty());
  EXPECT_FALSE(reporter_.welcome());
}

TEST_F(NodeReporterTest, NothingIsReportedBeforeTheLeaderHasWelcomedTheAgent) {
  reporter_.StreamOpened();
  EXPECT_TRUE(reporter_.Observed(Report("550"), now_).empty());
  v1alpha1::OperatorMessage standby;
  standby.mutable_not_leader()->set_address("x");
  EXPECT_TRUE(reporter_.Heard(standby, now_).empty());
  const auto said = reporter_.Heard(Welcome(), now_);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].node_report().driver_version(), "550");
}

TEST_F(NodeReporterTest, AMachineWithHundredsOfVirtualCardsMakesAMessageThatTheOperatorTakes) {
  v1alpha1::NodeReport report = Report("550");
  for (int i = 0; i < 8; ++i) report.add_gpus()->set_uuid("GPU-0123456789abcdef");
  for (int i = 0; i < 512; ++i) {
    report.add_network_cards()->set_name(std::string(200, 'n'));
    report.add_disks()->set_model(std::string(100, 'd'));
  }
  reporter_.StreamOpened();
  reporter_.Observed(report, now_);
  const auto said = reporter_.Heard(Welcome(), now_);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_LE(said[0].ByteSizeLong(), v1alpha1::kMaxAgentMessage);
  EXPECT_EQ(said[0].node_report().gpus_size(), 8);
  EXPECT_GT(said[0].node_report().network_cards_size(), 100);
}

TEST_F(NodeReporterTest, OnlyWhatIsNewIsReported) {
  reporter_.StreamOpened();
  reporter_.Heard(Welcome(), now_);
  EXPECT_EQ(reporter_.Observed(Report("550"), now_).size(), 1u);
  EXPECT_EQ(reporter_.Observed(Report("550"), now_).size(), 0u);
  EXPECT_EQ(reporter_.Observed(Report("560"), now_).size(), 1u);
  EXPECT_EQ(reporter_.reports(), 2);
}

TEST_F(NodeReporterTest, ANewStreamGetsTheReportAgain) {
  reporter_.StreamOpened();
  reporter_.Heard(Welcome(), now_);
  reporter_.Observed(Report("550"), now_);
  reporter_.StreamClosed();
  EXPECT_FALSE(reporter_.welcome());
  EXPECT_TRUE(reporter_.Observed(Report("560"), now_).empty());
  reporter_.StreamOpened();
  const auto said = reporter_.Heard(Welcome(), now_);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].node_report().driver_version(), "560");
}

TEST_F(NodeReporterTest, AHeartbeatFillsSilence) {
  EXPECT_EQ(reporter_.next(), absl::InfiniteFuture());
  EXPECT_TRUE(reporter_.Tick(now_).empty());
  reporter_.StreamOpened();
  reporter_.Heard(Welcome(30), now_);
  EXPECT_EQ(reporter_.next(), now_ + absl::Seconds(30));
  now_ += absl::Seconds(20);
  reporter_.Observed(Report("550"), now_);
  now_ += absl::Seconds(29);
  EXPECT_TRUE(reporter_.Tick(now_).empty());
  now_ += absl::Seconds(1);
  const auto said = reporter_.Tick(now_);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].has_heartbeat());
  EXPECT_TRUE(reporter_.Tick(now_).empty());
}

TEST_F(NodeReporterTest, ThePowerIsToldAtEachHeartbeatsTimeInItsPlace) {
  EXPECT_FALSE(reporter_.WantsPower(now_));
  EXPECT_TRUE(reporter_.Power(PowerOf(300), now_).empty());
  reporter_.StreamOpened();
  EXPECT_FALSE(reporter_.WantsPower(now_));
  reporter_.Heard(Welcome(30), now_);
  EXPECT_TRUE(reporter_.WantsPower(now_));
  const auto said = reporter_.Power(PowerOf(300.5), now_);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].node_power().gpu_watts(), 300.5);
  now_ += absl::Seconds(29);
  EXPECT_FALSE(reporter_.WantsPower(now_));
  now_ += absl::Seconds(1);
  EXPECT_EQ(reporter_.Power(PowerOf(310), now_).size(), 1u);
  EXPECT_TRUE(reporter_.Tick(now_).empty());
  reporter_.StreamOpened();
  reporter_.Heard(Welcome(30), now_);
  EXPECT_TRUE(reporter_.WantsPower(now_)) << "a new stream may be to another leader";
}

TEST_F(NodeReporterTest, AnOperatorCannotMakeItTalkWithoutPause) {
  reporter_.StreamOpened();
  reporter_.Heard(Welcome(1e-9), now_);
  EXPECT_EQ(reporter_.next(), now_ + absl::Seconds(1));
}

}  // namespace
}  // namespace muster::agent
