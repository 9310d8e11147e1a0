#include "operator/core/growth/size_reason.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

v1alpha1::TrainingJobSpec Growing() {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_workers()->set_count(2);
  spec.mutable_workers()->set_max(4);
  spec.mutable_elastic()->set_policy("Grow");
  spec.mutable_trainer()->mutable_train()->set_global_batch(8);
  spec.mutable_trainer()->mutable_train()->set_micro_batch(1);
  return spec;
}

TEST(ExplainSizeTest, SaysWhyAJobHasNoMoreThanItWasGiven) {
  v1alpha1::TrainingJobStatus status;
  EXPECT_EQ(ExplainSize(Growing(), status).reason, "") << "it has not trained yet";
  status.mutable_elastic()->set_reason("NoCapacity");
  status.mutable_elastic()->set_message("it would grow to 4 workers");
  status.mutable_elastic()->set_workers(3);
  const SizeReason size = ExplainSize(Growing(), status);
  EXPECT_EQ(size.workers, 3);
  EXPECT_EQ(size.reason, "NoCapacity");
  EXPECT_EQ(size.sentence,
            "it has 1 more than workers.count; why not more: it would grow to 4 workers");
}

TEST(ExplainSizeTest, NamesTheQueuesOrder) {
  v1alpha1::TrainingJobStatus status;
  status.mutable_preemption()->set_workers(1);
  status.mutable_preemption()->set_reason("Reclaimed");
  status.mutable_preemption()->set_message("shrinks to 1 workers for team/large");
  const SizeReason size = ExplainSize(Growing(), status);
  EXPECT_EQ(size.workers, 1);
  EXPECT_EQ(size.reason, "Reclaimed");
  EXPECT_EQ(size.sentence,
            "its queue has taken workers: the job shrinks to 1 workers for team/large");
}

TEST(ExplainSizeTest, APolicyOfFixedIsTheReason) {
  v1alpha1::TrainingJobSpec spec = Growing();
  spec.mutable_elastic()->set_policy("Fixed");
  const SizeReason size = ExplainSize(spec, {});
  EXPECT_EQ(size.workers, 2);
  EXPECT_EQ(size.reason, "Fixed") << "workers.max has no effect";
  spec.mutable_workers()->set_max(2);
  EXPECT_EQ(ExplainSize(spec, {}).reason, "");
}

TEST(ExplainSizeTest, AJobThatHasEndedHasNone) {
  v1alpha1::TrainingJobStatus status;
  SetCondition(status, ConditionType::kSucceeded, true, Reason::kTrainingFinished, "",
               absl::UnixEpoch(), 1);
  EXPECT_EQ(ExplainSize(Growing(), status).reason, "");
}

TEST(DescribeResizeTest, HasTheFigures) {
  v1alpha1::TrainingJobStatus status;
  EXPECT_EQ(DescribeResize(status), "");
  status.mutable_resize()->set_round(5);
  status.mutable_resize()->set_from(2);
  status.mutable_resize()->set_to(4);
  status.mutable_resize()->set_pause_seconds(0.25);
  status.mutable_resize()->set_message("worker 2 is attached");
  EXPECT_EQ(DescribeResize(status),
            "from 2 to 4 workers in round 5, with a pause of 0.25 s: worker 2 is attached");
}

TEST(DescribeSparesTest, NamesThoseThatAreReadyAndTheNewestSwap) {
  v1alpha1::TrainingJobSpec spec = Growing();
  spec.mutable_elastic()->set_policy("Fixed");
  v1alpha1::TrainingJobStatus status;
  EXPECT_EQ(DescribeSpares(spec, status), "");
  spec.mutable_workers()->set_spares(3);
  status.mutable_workers()->set_spares(2);
  EXPECT_EQ(DescribeSpares(spec, status), "2 of 3 can take the place of a lost worker at once");
  status.mutable_swap()->set_round(4);
  status.mutable_swap()->set_workers("0-1");
  status.mutable_swap()->set_spares("2-3");
  status.mutable_swap()->set_pause_seconds(0.5);
  EXPECT_EQ(DescribeSpares(spec, status),
            "2 of 3 can take the place of a lost worker at once; in round 4, 2-3 took the ranks of "
            "0-1, with a pause of 0.5 s");
}

}  // namespace
}  // namespace muster::control
