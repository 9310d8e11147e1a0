#include "trainer/engine/step_reporter.h"

#include <vector>

#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/phase_times.h"
#include "trainer/engine/link/phase_timer.h"

namespace muster::trainer {
namespace {

class Collector final : public Outbox {
 public:
  void Send(const v1alpha1::FromTrainer& message) override {
    ++batches;
    for (const auto& step : message.steps().steps()) steps.push_back(step.version().step());
    rounds.push_back(message.steps().round().round());
  }
  int batches = 0;
  std::vector<int64_t> steps, rounds;
};

v1alpha1::StepReport Step(int64_t step) {
  v1alpha1::StepReport report;
  report.mutable_version()->set_step(step);
  return report;
}
v1alpha1::RoundId Round(int64_t number) {
  v1alpha1::RoundId round;
  round.set_round(number);
  return round;
}

class StepReporterTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  Collector outbox_;
  StepReporter reporter_{outbox_, clock_};
};

TEST_F(StepReporterTest, ReportsAStepOnceTheNextOneProvesItCommitted) {
  reporter_.BeginRound(Round(1));
  reporter_.Applied(Step(1));
  reporter_.Flush(true);
  EXPECT_TRUE(outbox_.steps.empty());
  reporter_.Applied(Step(2));
  reporter_.Flush(true);
  EXPECT_EQ(outbox_.steps, (std::vector<int64_t>{1}));
  reporter_.Commit();
  reporter_.Flush(true);
  EXPECT_EQ(outbox_.steps, (std::vector<int64_t>{1, 2}));
}

TEST_F(StepReporterTest, SendsAtMostTenBatchesASecond) {
  reporter_.BeginRound(Round(1));
  for (int64_t step = 1; step <= 1000; ++step) {
    reporter_.Applied(Step(step));
    reporter_.Flush(false);
    clock_.Advance(absl::Milliseconds(1));
  }
  EXPECT_EQ(outbox_.batches, 10);
  reporter_.Commit();
  reporter_.Flush(true);
  EXPECT_EQ(outbox_.steps.size(), 1000);
}

TEST_F(StepReporterTest, ForgetsAStepThatTheNextRoundDoesNotGoOnFrom) {
  reporter_.BeginRound(Round(1));
  reporter_.Applied(Step(4));
  reporter_.Resume(3);
  reporter_.BeginRound(Round(2));
  reporter_.Applied(Step(4));
  reporter_.Resume(4);
  reporter_.BeginRound(Round(3));
  EXPECT_EQ(outbox_.steps, (std::vector<int64_t>{4}));
  EXPECT_EQ(outbox_.rounds, (std::vector<int64_t>{2}));
}

TEST(PhaseTimerTest, PhasesSumToTheWallTime) {
  ManualClock clock;
  PhaseTimer timer(clock, Phase::kInit);
  clock.Advance(absl::Seconds(1));
  {
    const PhaseScope compute(timer, Phase::kCompute);
    clock.Advance(absl::Seconds(2));
    {
      const PhaseScope data(timer, Phase::kData);
      clock.Advance(absl::Seconds(4));
    }
    clock.Advance(absl::Seconds(8));
  }
  const v1alpha1::PhaseTimes before = timer.Totals();
  EXPECT_EQ(before.init(), 1.0);
  EXPECT_EQ(before.compute(), 10.0);
  EXPECT_EQ(before.data(), 4.0);
  clock.Advance(absl::Seconds(16));
  EXPECT_EQ(Difference(timer.Totals(), before).init(), 16.0);
  EXPECT_EQ(Difference(timer.Totals(), before).compute(), 0.0);
}

}  // namespace
}  // namespace muster::trainer
