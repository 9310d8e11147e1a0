#include "operator/coordinator/progress/progress_board.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

v1alpha1::StepReports Steps(int64_t round, int64_t from, int64_t to, double loss = 1.0) {
  v1alpha1::StepReports reports;
  reports.mutable_round()->set_round(round);
  for (int64_t step = from; step <= to; ++step) {
    auto& report = *reports.add_steps();
    report.mutable_version()->set_step(step);
    report.set_loss(loss / static_cast<double>(step));
    report.set_tokens(1000);
    report.set_applied(true);
    report.set_finished_at_us(step * 100'000);
  }
  return reports;
}

TEST(ProgressBoardTest, RemembersStepsAndSpeed) {
  ProgressBoard board;
  board.RecordSteps("uid", Steps(1, 1, 11));
  const ProgressSnapshot snapshot = board.Snapshot("uid");
  EXPECT_EQ(snapshot.last_step->version().step(), 11);
  EXPECT_DOUBLE_EQ(snapshot.tokens_per_second, 10'000);
  EXPECT_DOUBLE_EQ(snapshot.steps_per_second, 10);
  EXPECT_DOUBLE_EQ(*snapshot.best_loss, 1.0 / 11);
  ASSERT_EQ(board.StepsSince("uid", 8, 100).size(), 3u);
  EXPECT_EQ(board.StepsSince("uid", 8, 2).back().version().step(), 10);
  EXPECT_TRUE(board.StepsSince("other", 0, 10).empty());
}

// A command need not report every step.
TEST(ProgressBoardTest, StepsThatWereNotReportedCountForTheSpeed) {
  ProgressBoard board;
  const v1alpha1::StepReports all = Steps(1, 1, 31);
  v1alpha1::StepReports some;
  for (const int i : {0, 10, 20, 30}) *some.add_steps() = all.steps(i);
  some.mutable_round()->set_round(1);
  board.RecordSteps("uid", some);
  EXPECT_DOUBLE_EQ(board.Snapshot("uid").steps_per_second, 10);
  EXPECT_DOUBLE_EQ(board.Snapshot("uid").tokens_per_second, 1000);
}

TEST(ProgressBoardTest, TuningsInForceAreRememberedByTheirPlaceThroughRounds) {
  ProgressBoard board;
  v1alpha1::StepReports reports = Steps(1, 1, 9);
  const auto tune = [&reports](int index, int tunings, int64_t step) {
    reports.mutable_steps(index)->set_tunings(tunings);
    reports.mutable_steps(index)->mutable_tuning()->set_step(step);
    reports.mutable_steps(index)->mutable_tuning()->set_learning_rate(0.1 * tunings);
  };
  tune(4, 1, 5);
  tune(5, 1, 5);
  tune(8, 3, 9);
  board.RecordSteps("uid", reports);
  std::vector<v1alpha1::Tuning> seen = board.Snapshot("uid").tunings;
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].step(), 5);
  EXPECT_EQ(seen[0].learning_rate(), 0.1);
  EXPECT_EQ(seen[1].step(), 0) << "its reports were lost";
  EXPECT_EQ(seen[2].step(), 9);
  board.RecordSteps("uid", Steps(2, 3, 4));
  EXPECT_EQ(board.Snapshot("uid").tunings.size(), 3u) << "the round went back before them";
}

TEST(ProgressBoardTest, TheNewestSpikeIsKeptBesideTheNewestStep) {
  ProgressBoard board;
  v1alpha1::StepReports reports = Steps(1, 1, 9);
  reports.mutable_steps(2)->set_spike("loss 7");
  reports.mutable_steps(4)->set_spike("loss 9");
  board.RecordSteps("uid", reports);
  const ProgressSnapshot snapshot = board.Snapshot("uid");
  ASSERT_TRUE(snapshot.last_spike.has_value());
  EXPECT_EQ(snapshot.last_spike->version().step(), 5);
  EXPECT_EQ(snapshot.last_spike->spike(), "loss 9");
}

TEST(ProgressBoardTest, StepsSentAgainCountOnce) {
  ProgressBoard board;
  board.RecordSteps("uid", Steps(1, 1, 10));
  board.RecordSteps("uid", Steps(1, 6, 12));
  EXPECT_EQ(board.Snapshot("uid").steps_seen, 12);
  EXPECT_EQ(board.StepsSince("uid", 0, 100).size(), 12u);
}

std::vector<int64_t> StepNumbers(const TrainingHistory& history) {
  std::vector<int64_t> numbers;
  for (const TrainedStep& step : history.steps) numbers.push_back(step.step);
  return numbers;
}

TEST(ProgressBoardTest, TheHistoryHasTheNewStepsAndThoseBeforeThem) {
  ProgressBoard board;
  board.RecordSteps("uid", Steps(1, 1, 300));
  TrainingHistory history = board.History("uid", 1, 295);
  ASSERT_EQ(history.steps.size(), TrainingHistory::kStepsBefore + 5);
  EXPECT_EQ(history.steps.front().step, 196);
  EXPECT_EQ(history.steps.back().step, 300);
  EXPECT_EQ(*history.steps.back().loss, 1.0 / 300);
  EXPECT_EQ(history.steps.back().tokens, 1000);
  // The next round repeats some steps: they are new again, and the old ones are gone.
  board.RecordSteps("uid", Steps(2, 3, 4));
  history = board.History("uid", 1, 300);
  EXPECT_EQ(history.round, 2);
  EXPECT_EQ(history.first_step, 3);
  EXPECT_EQ(StepNumbers(history), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(board.History("other", 1, 0).steps.empty());
}

TEST(ProgressBoardTest, TheHistoryTellsALossThatIsNotFiniteFromNone) {
  ProgressBoard board;
  v1alpha1::StepReports reports = Steps(1, 1, 2);
  for (auto& step : *reports.mutable_steps()) step.set_loss(std::nan(""));
  reports.mutable_steps(0)->set_applied(false);
  board.RecordSteps("uid", reports);
  const TrainingHistory history = board.History("uid", 0, 0);
  ASSERT_EQ(history.steps.size(), 2u);
  ASSERT_TRUE(history.steps[0].loss.has_value());
  EXPECT_TRUE(std::isnan(*history.steps[0].loss));
  EXPECT_FALSE(history.steps[1].loss.has_value());
  EXPECT_FALSE(board.Snapshot("uid").best_loss.has_value());
}

TEST(ProgressBoardTest, ValidationsAreBoundedAndTakenBackWithTheirSteps) {
  ProgressBoard board;
  v1alpha1::StepReports reports =
      Steps(1, 1, static_cast<int64_t>(TrainingHistory::kValidations) + 2);
  for (auto& step : *reports.mutable_steps()) {
    step.set_validation_loss(static_cast<double>(step.version().step()));
  }
  board.RecordSteps("uid", reports);
  TrainingHistory history = board.History("uid", 0, 0);
  ASSERT_EQ(history.validations.size(), TrainingHistory::kValidations);
  EXPECT_EQ(history.validations.front().step, 3);
  EXPECT_EQ(history.best_before, 1.0);
  board.RecordSteps("uid", Steps(2, 10, 10));
  history = board.History("uid", 0, 0);
  EXPECT_EQ(history.validations.back().step, 9);
  EXPECT_EQ(history.best_before, 1.0);
  board.RecordSteps("uid", Steps(3, 1, 1));
  history = board.History("uid", 0, 0);
  EXPECT_TRUE(history.validations.empty());
  EXPECT_FALSE(history.best_before.has_value()) << "it may be of a step that was taken back";
}

TEST(ProgressBoardTest, ANewRoundTakesBackTheStepsItRedoes) {
  ProgressBoard board;
  board.RecordSteps("uid", Steps(1, 1, 10));
  board.RecordSteps("uid", Steps(2, 8, 9, 50.0));
  const auto steps = board.StepsSince("uid", 0, 100);
  ASSERT_EQ(steps.size(), 9u);
  EXPECT_DOUBLE_EQ(steps[7].loss(), 50.0 / 8);
  EXPECT_EQ(board.Curve("uid").back().step, 9);
}

TEST(ProgressBoardTest, AReportOfASupersededRoundIsDropped) {
  ProgressBoard board;
  board.RecordSteps("uid", Steps(2, 1, 3));
  board.RecordSteps("uid", Steps(1, 4, 9));
  EXPECT_EQ(board.Snapshot("uid").last_step->version().step(), 3);
}

TEST(ProgressBoardTest, StaysBoundedAndKeepsTheWholeRunsShape) {
  ProgressBoard board;
  for (int64_t step = 1; step <= 20'000; step += 100) {
    board.RecordSteps("uid", Steps(1, step, step + 99));
  }
  EXPECT_EQ(board.StepsSince("uid", 0, 1 << 20).size(), ProgressBoard::kRecentSteps);
  const auto curve = board.Curve("uid");
  EXPECT_LE(curve.size(), ProgressBoard::kCurvePoints);
  EXPECT_GE(curve.size(), ProgressBoard::kCurvePoints / 4);
  EXPECT_LT(curve.front().step, 100);
  EXPECT_GT(curve.back().step, 19'900);
}

// A job whose every step has a validation loss, for longer than any bound of the board.
TEST(ProgressBoardTest, AValidationLossInEveryStepEndsInNoDivisionByZero) {
  ProgressBoard board;
  v1alpha1::StepReports reports = Steps(1, 1, 1);
  v1alpha1::StepReport& step = *reports.mutable_steps(0);
  step.set_validation_loss(1.5);
  for (int64_t number = 1; number <= 200'000; ++number) {
    step.mutable_version()->set_step(number);
    board.RecordSteps("uid", reports);
  }
  const auto curve = board.Curve("uid");
  EXPECT_LE(curve.size(), ProgressBoard::kCurvePoints);
  EXPECT_GE(curve.size(), ProgressBoard::kCurvePoints / 4);
  EXPECT_LT(curve.front().step, 1000);
  EXPECT_GT(curve.back().step, 199'000);
}

// Steps that are all multiples of a high power of two are thinned like any others.
TEST(ProgressBoardTest, NoNumberingOfTheStepsGrowsTheCurveWithoutBound) {
  ProgressBoard board;
  v1alpha1::StepReports reports = Steps(1, 1, 1);
  for (int64_t number = 1; number <= 8000; ++number) {
    reports.mutable_steps(0)->mutable_version()->set_step(number << 40);
    board.RecordSteps("uid", reports);
  }
  EXPECT_LE(board.Curve("uid").size(), ProgressBoard::kCurvePoints);
  EXPECT_GE(board.Curve("uid").size(), ProgressBoard::kCurvePoints / 4);
}

TEST(ProgressBoardTest, RareValidationsStayWhileTheOtherPointsAreThinned) {
  ProgressBoard board;
  v1alpha1::StepReports reports = Steps(1, 1, 50'000);
  for (auto& step : *reports.mutable_steps()) {
    if (step.version().step() % 100 == 0) step.set_validation_loss(2.0);
  }
  board.RecordSteps("uid", reports);
  int64_t validations = 0;
  for (const CurvePoint& point : board.Curve("uid")) validations += point.validation_loss ? 1 : 0;
  EXPECT_EQ(validations, 500);
}

TEST(ProgressBoardTest, LittleIsKeptOfAJobThatHasEnded) {
  ProgressBoard board;
  for (int64_t step = 1; step <= 20'000; step += 100) {
    board.RecordSteps("uid", Steps(1, step, step + 99));
  }
  const int64_t last = board.Curve("uid").back().step;
  board.Settle("uid");
  EXPECT_TRUE(board.StepsSince("uid", 0, 1 << 20).empty());
  const auto curve = board.Curve("uid");
  EXPECT_LE(curve.size(), ProgressBoard::kSettledPoints);
  EXPECT_GE(curve.size(), ProgressBoard::kSettledPoints / 2);
  EXPECT_LT(curve.front().step, 200);
  EXPECT_EQ(curve.back().step, last);
  EXPECT_EQ(board.Snapshot("uid").last_step->version().step(), 20'000);
  board.Settle("other");
}

TEST(ProgressBoardTest, AWrittenCheckpointClearsTheFailureBeforeIt) {
  ProgressBoard board;
  v1alpha1::CheckpointReport report;
  report.set_phase(v1alpha1::CheckpointReport::FAILED);
  report.set_error("disk full");
  board.RecordCheckpoint("uid", report);
  EXPECT_EQ(board.Snapshot("uid").last_failed->error(), "disk full");
  report.set_phase(v1alpha1::CheckpointReport::WRITTEN);
  board.RecordCheckpoint("uid", report);
  EXPECT_FALSE(board.Snapshot("uid").last_failed.has_value());
  EXPECT_TRUE(board.Snapshot("uid").last_written.has_value());
}

v1alpha1::StepReport Step(int second, int slowest, double mean = 1.0, double longest = 1.5) {
  v1alpha1::StepReport step;
  step.set_finished_at_us((int64_t{1000} + second) * 1'000'000);
  step.set_slowest_rank(slowest);
  step.set_mean_busy_seconds(mean);
  step.set_longest_busy_seconds(longest);
  return step;
}

TEST(SlowestRankTest, AWholeWindowNamesTheRankThatWasTheBusiestMostOften) {
  SlowestRankCounter counter;
  for (int second = 0; second < 300; ++second)
    counter.Add(1, Step(second, second % 10 == 0 ? 0 : 3));
  EXPECT_FALSE(counter.last().has_value()) << "the window is not over";
  counter.Add(1, Step(300, 3));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_EQ(counter.last()->round, 1);
  EXPECT_EQ(counter.last()->rank, 3);
  EXPECT_EQ(counter.last()->steps, 301);
  EXPECT_NEAR(counter.last()->share, 0.9, 0.01);
  EXPECT_DOUBLE_EQ(counter.last()->factor, 1.5);
  EXPECT_DOUBLE_EQ(counter.last()->busy, 1.0);
}

TEST(SlowestRankTest, TheTimeInWhichRanksWereNotBusyIsThatInWhichTheyWaitedForEachOther) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 300; ++second) counter.Add(1, Step(second, 3, 0.4, 0.5));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_NEAR(counter.last()->busy, 0.4, 1e-12);
}

TEST(SlowestRankTest, ANewRoundForgetsTheRanksOfTheOldOne) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 300; ++second) counter.Add(1, Step(second, 3));
  counter.Add(2, Step(301, 1));
  EXPECT_FALSE(counter.last().has_value());
}

TEST(SlowestRankTest, TheNextWindowReplacesTheLast) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 300; ++second) counter.Add(1, Step(second, 3));
  for (int second = 301; second <= 601; ++second) counter.Add(1, Step(second, 1, 1.0, 1.1));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_EQ(counter.last()->rank, 1);
  EXPECT_DOUBLE_EQ(counter.last()->share, 1.0);
  EXPECT_NEAR(counter.last()->factor, 1.1, 1e-12);
}

TEST(SlowestRankTest, RanksThatDoNotSayHowLongTheyWereBusyNameNobody) {
  SlowestRankCounter counter;
  for (int second = 0; second <= 700; ++second) counter.Add(1, Step(second, 0, 0.0, 0.0));
  EXPECT_FALSE(counter.last().has_value());
}

TEST(SlowestRankTest, AClockThatIsSetBackBeginsAnotherWindow) {
  SlowestRankCounter counter;
  for (int second = 0; second < 200; ++second) counter.Add(1, Step(second, 3));
  for (int second = -500; second < -201; ++second) counter.Add(1, Step(second, 1));
  EXPECT_FALSE(counter.last().has_value());
  counter.Add(1, Step(-200, 1));
  ASSERT_TRUE(counter.last().has_value());
  EXPECT_EQ(counter.last()->steps, 300 + 1 - 1);
  EXPECT_EQ(counter.last()->rank, 1);
}

}  // namespace
}  // namespace muster::control
