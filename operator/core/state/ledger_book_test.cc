#include "operator/core/state/ledger_book.h"

#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {
namespace {

StepTimes Times(double compute, double communication, double data, double checkpoint,
                double other) {
  StepTimes out;
  v1alpha1::PhaseTimes& times = out.phases;
  times.set_compute(compute);
  times.set_communication(communication);
  times.set_data(data);
  times.set_checkpoint(checkpoint);
  times.set_other(other);
  return out;
}

TEST(LedgerBookTest, EachUseHasAFieldOfItsOwn) {
  v1alpha1::LedgerStatus ledger;
  double next = 1;
  for (const TimeUse use : AllTimeUses()) Charge(ledger, use, next++);
  next = 1;
  for (const TimeUse use : AllTimeUses()) EXPECT_EQ(SecondsOf(ledger, use), next++) << Name(use);
  EXPECT_EQ(TotalSeconds(ledger), 91);
  EXPECT_EQ(ledger.data_stall(), 8);
  EXPECT_EQ(Name(TimeUse::kDataStall), "dataStall");
}

TEST(LedgerBookTest, ClocksThatWereSetBackChargeNothing) {
  v1alpha1::LedgerStatus ledger;
  Charge(ledger, TimeUse::kQueued, 5);
  Charge(ledger, TimeUse::kQueued, -3);
  EXPECT_EQ(ledger.queued(), 5);
}

TEST(LedgerBookTest, StepsAreFiledByTheirTimesForAllRanks) {
  v1alpha1::LedgerStatus ledger;
  ledger.set_unreported(100);
  FileSteps(ledger, Times(6, 2, 1, 0.5, 0.5), 4, 0);
  EXPECT_DOUBLE_EQ(ledger.productive(), 26);
  EXPECT_DOUBLE_EQ(ledger.communication(), 8);
  EXPECT_DOUBLE_EQ(ledger.data_stall(), 4);
  EXPECT_DOUBLE_EQ(ledger.checkpoint_stall(), 2);
  EXPECT_DOUBLE_EQ(ledger.unreported(), 60);
  EXPECT_DOUBLE_EQ(TotalSeconds(ledger), 100);
}

// Rank 0 computes for 6 s and waits for 4 s; the mean of the ranks is busy for 7 s, the slowest for
// 9 s.
TEST(LedgerBookTest, TheWaitForTheSlowestRankIsTheMeanOverTheRanks) {
  v1alpha1::LedgerStatus ledger;
  ledger.set_unreported(40);
  StepTimes times = Times(6, 4, 0, 0, 0);
  times.mean_busy = 7;
  times.longest_busy = 9;
  FileSteps(ledger, times, 4, 0);
  EXPECT_DOUBLE_EQ(ledger.productive(), 28);
  EXPECT_DOUBLE_EQ(ledger.straggler_wait(), 8);
  EXPECT_DOUBLE_EQ(ledger.communication(), 4);
  EXPECT_DOUBLE_EQ(TotalSeconds(ledger), 40);
}

// Rank 0 is the slowest itself, so it waits for no other rank.
TEST(LedgerBookTest, AStragglerThatReportsHasMadeTheOthersWait) {
  v1alpha1::LedgerStatus ledger;
  ledger.set_unreported(40);
  StepTimes times = Times(9, 1, 0, 0, 0);
  times.mean_busy = 6;
  times.longest_busy = 9;
  FileSteps(ledger, times, 4, 0);
  EXPECT_DOUBLE_EQ(ledger.productive(), 24);
  EXPECT_DOUBLE_EQ(ledger.straggler_wait(), 12);
  EXPECT_DOUBLE_EQ(ledger.communication(), 4);
}

TEST(LedgerBookTest, BusyTimesThatContradictThePhasesStayWithinThem) {
  v1alpha1::LedgerStatus ledger;
  ledger.set_unreported(40);
  StepTimes times = Times(6, 4, 0, 0, 0);
  times.mean_busy = 70;
  times.longest_busy = 900;
  FileSteps(ledger, times, 4, 0);
  EXPECT_DOUBLE_EQ(ledger.productive(), 40);
  EXPECT_DOUBLE_EQ(TotalSeconds(ledger), 40);
}

TEST(LedgerBookTest, StepsThatClaimMoreTimeThanThereWasGetWhatThereWas) {
  v1alpha1::LedgerStatus ledger;
  ledger.set_unreported(10);
  FileSteps(ledger, Times(6, 2, 0, 0, 0), 4, 0.5);
  EXPECT_DOUBLE_EQ(ledger.rework(), 5);
  EXPECT_DOUBLE_EQ(ledger.productive(), 3.75);
  EXPECT_DOUBLE_EQ(ledger.communication(), 1.25);
  EXPECT_DOUBLE_EQ(ledger.unreported(), 0);
}

TEST(LedgerBookTest, ReportsWithoutTimesFileNothing) {
  v1alpha1::LedgerStatus ledger;
  ledger.set_unreported(10);
  FileSteps(ledger, Times(0, 0, 0, 0, 0), 4, 0);
  FileSteps(ledger, Times(-5, 0, 0, 0, 0), 4, 0);
  EXPECT_EQ(ledger.unreported(), 10);
  EXPECT_EQ(TotalSeconds(ledger), 10);
}

TEST(LedgerBookTest, GoodputIsTheShareOfTimeWithNodesTimesThatOfNewSteps) {
  v1alpha1::LedgerStatus ledger;
  EXPECT_FALSE(GoodputOf(ledger).has_value());
  ledger.set_idle(1000);
  ledger.set_unreported(1000);
  EXPECT_FALSE(GoodputOf(ledger).has_value());
  ledger.set_queued(15);
  ledger.set_placing(5);
  ledger.set_productive(50);
  ledger.set_communication(8);
  ledger.set_straggler_wait(1);
  ledger.set_data_stall(1);
  ledger.set_rework(20);
  const auto goodput = GoodputOf(ledger);
  ASSERT_TRUE(goodput.has_value());
  EXPECT_DOUBLE_EQ(goodput->scheduling, 0.8);
  EXPECT_DOUBLE_EQ(goodput->runtime, 0.75);
  EXPECT_DOUBLE_EQ(goodput->ettr, 0.6);
}

}  // namespace
}  // namespace muster::control
