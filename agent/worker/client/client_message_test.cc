#include "agent/worker/client/client_message.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

TEST(ParseClientPacketTest, AReportIsAStepOfTheTrainer) {
  const auto message = ParseClientPacket(
      R"({"report": {"step": 12, "loss": 3.5, "tokens": 4096, "steps": 300, "validationLoss": 3.75,
          "learningRate": 0.001, "gradientNorm": 2, "later": "fields are ignored"}})");
  ASSERT_TRUE(message.ok()) << message.status();
  ASSERT_EQ(message->steps().steps_size(), 1);
  const v1alpha1::StepReport& step = message->steps().steps(0);
  EXPECT_EQ(step.version().step(), 12);
  EXPECT_EQ(step.loss(), 3.5);
  EXPECT_TRUE(step.applied());
  EXPECT_EQ(step.tokens(), 4096);
  EXPECT_EQ(step.total_steps(), 300);
  EXPECT_EQ(step.validation_loss(), 3.75);
  EXPECT_EQ(step.learning_rate(), 0.001);
  EXPECT_EQ(step.gradient_norm(), 2);
}

TEST(ParseClientPacketTest, AStepWhoseLossIsNotFiniteWasSkippedAndOneWithoutLossWasNot) {
  for (const char* packet :
       {R"({"report": {"step": 1, "loss": null}})", R"({"report": {"step": 1}})"}) {
    const auto message = ParseClientPacket(packet);
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_TRUE(std::isnan(message->steps().steps(0).loss())) << packet;
    EXPECT_EQ(message->steps().steps(0).applied(), !absl::StrContains(packet, "loss")) << packet;
    EXPECT_FALSE(message->steps().steps(0).has_validation_loss()) << packet;
  }
}

TEST(ParseClientPacketTest, ACheckpointLiesBelowTheJobsUriOrHasAPathOfItsOwn) {
  const auto below = ParseClientPacket(R"({"checkpoint": {"step": 3, "directory": "step-3"}})");
  ASSERT_TRUE(below.ok()) << below.status();
  EXPECT_EQ(below->checkpoint().phase(), v1alpha1::CheckpointReport::WRITTEN);
  EXPECT_EQ(below->checkpoint().version().step(), 3);
  EXPECT_EQ(below->checkpoint().directory(), "step-3");
  EXPECT_EQ(below->checkpoint().uri(), "");
  const auto own = ParseClientPacket(R"({"checkpoint": {"step": 3, "directory": "/d/step-3"}})");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->checkpoint().uri(), "/d/step-3");
}

TEST(ParseClientPacketTest, AWatcherSaysHello) {
  const auto message = ParseClientPacket(R"({"watch": true})");
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_TRUE(message->has_hello());
}

TEST(ParseClientPacketTest, ARefusalNamesTheField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"report": {"loss": 1}})", "report.step: wants a whole number from 0 to 2^53"},
      {R"({"report": {"step": -1}})", "report.step: wants a whole number from 0 to 2^53"},
      {R"({"report": {"step": 1.5}})", "report.step: wants a whole number from 0 to 2^53"},
      {R"({"report": {"step": 1, "loss": "low"}})", "report.loss: wants a number or null"},
      {R"({"report": {"step": 1, "tokens": true}})",
       "report.tokens: wants a whole number from 0 to 2^53"},
      {R"({"report": 7})", "report: wants an object"},
      {R"({"checkpoint": {"step": 1}})", "checkpoint.directory: wants a name of 1 to 1024 bytes"},
      {R"({"watch": 1})", "watch: wants true"},
      {R"({"joined": {}})", "packet: wants report, checkpoint or watch"},
      {R"({"report": {"step": 1}, "watch": true})", "packet: wants an object of one field"},
      {"[]", "packet: wants an object of one field"}};
  for (const auto& [packet, error] : cases) {
    const auto message = ParseClientPacket(packet);
    EXPECT_EQ(message.status().code(), absl::StatusCode::kInvalidArgument) << packet;
    EXPECT_EQ(message.status().message(), error) << packet;
  }
  for (const char* packet : {"", "{", "step 12", "{\"report\": {\"step\": 1, \"loss\": NaN}}"}) {
    EXPECT_FALSE(ParseClientPacket(packet).ok()) << packet;
  }
}

TEST(FormatClientNoticeTest, ATimeIsNamedOnlyIfThereIsOne) {
  EXPECT_EQ(FormatClientNotice({}), R"({"muster":1,"saves":0})");
  EXPECT_EQ(FormatClientNotice({2, 14.5}), R"({"leaveIn":14.5,"muster":1,"saves":2})");
}

}  // namespace
}  // namespace muster::agent
