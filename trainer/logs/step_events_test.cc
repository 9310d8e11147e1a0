#include "trainer/logs/step_events.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/logs/event.pb.h"

namespace muster::trainer {
namespace {

// Returns the event of one record, whose frame is 12 bytes before it and 4 behind it.
tensorboard::Event EventOf(const std::string& record) {
  tensorboard::Event event;
  EXPECT_GT(record.size(), 16u);
  EXPECT_TRUE(event.ParseFromString(record.substr(12, record.size() - 16)));
  return event;
}

std::map<std::string, float> ValuesOf(const v1alpha1::StepReport& report) {
  std::map<std::string, float> values;
  const tensorboard::Event event = EventOf(StepRecord(report));
  for (const auto& value : event.summary().value()) {
    EXPECT_TRUE(values.emplace(value.tag(), value.simple_value()).second) << value.tag();
  }
  return values;
}

v1alpha1::StepReport Report() {
  v1alpha1::StepReport report;
  report.mutable_version()->set_step(7);
  report.set_loss(2.5);
  report.set_gradient_norm(0.75);
  report.set_learning_rate(0.001);
  report.set_applied(true);
  report.set_tokens(3000);
  report.set_skipped_total(2);
  report.set_finished_at_us(1'700'000'000'250'000);
  report.mutable_times()->set_init(100);
  report.mutable_times()->set_recovery(50);
  report.mutable_times()->set_compute(1);
  report.mutable_times()->set_data(0.25);
  report.mutable_times()->set_communication(0.125);
  report.mutable_times()->set_checkpoint(0.5);
  report.mutable_times()->set_other(0.125);
  return report;
}

// The bytes are those of the record writer of TensorBoard 2.21.0, and of its messages.
TEST(StepEventsTest, AFileBeginsWithTheBytesThatTensorBoardWrites) {
  EXPECT_EQ(absl::BytesToHexString(FileVersionRecord(absl::FromUnixSeconds(1'700'000'000))),
            "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d");
}

TEST(StepEventsTest, ARestartIsTheBytesThatTensorBoardWrites) {
  EXPECT_EQ(absl::BytesToHexString(RestartRecord(300, absl::FromUnixSeconds(1'700'000'000))),
            "100000000000000095fbfe180900000040fc54d94110ac023a02080195410618");
}

TEST(StepEventsTest, AStepHasEachValueOnce) {
  v1alpha1::StepReport report = Report();
  std::map<std::string, float> want = {{"train/loss", 2.5F},
                                       {"train/gradientNorm", 0.75F},
                                       {"train/learningRate", 0.001F},
                                       {"train/skippedSteps", 2.0F},
                                       {"train/tokensPerSecond", 1500.0F}};
  EXPECT_EQ(ValuesOf(report), want);
  report.set_validation_loss(2.75);
  want["validation/loss"] = 2.75F;
  EXPECT_EQ(ValuesOf(report), want);
  const tensorboard::Event event = EventOf(StepRecord(report));
  EXPECT_EQ(event.step(), 7);
  EXPECT_EQ(event.wall_time(), 1'700'000'000.25);
}

TEST(StepEventsTest, ValuesOfASkippedStepAreThere) {
  v1alpha1::StepReport report = Report();
  report.set_applied(false);
  report.set_loss(std::numeric_limits<double>::quiet_NaN());
  report.set_gradient_norm(std::numeric_limits<double>::infinity());
  report.set_skipped_total(0);
  report.clear_times();
  const std::map<std::string, float> values = ValuesOf(report);
  EXPECT_EQ(values.size(), 4u) << "a step without a time has no speed";
  EXPECT_TRUE(std::isnan(values.at("train/loss")));
  EXPECT_TRUE(std::isinf(values.at("train/gradientNorm")));
  const tensorboard::Event event = EventOf(StepRecord(report));
  ASSERT_EQ(event.summary().value(3).tag(), "train/skippedSteps");
  EXPECT_TRUE(event.summary().value(3).has_simple_value()) << "0 is a value, too";
}

}  // namespace
}  // namespace muster::trainer
