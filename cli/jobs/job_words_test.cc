#include "cli/jobs/job_words.h"

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

control::TrainingJob JobIn(const std::string& state) {
  control::TrainingJob job;
  job.generation = 2;
  job.status.set_state(state);
  job.status.set_round(3);
  return job;
}

v1alpha1::Condition& AddFalse(control::TrainingJob& job, const char* type, const char* reason,
                              const char* message) {
  v1alpha1::Condition& condition = *job.status.add_conditions();
  condition.set_type(type);
  condition.set_status("False");
  condition.set_reason(reason);
  condition.set_message(message);
  condition.set_observed_generation(2);
  return condition;
}

// Regression: it was "Recovering reason=PodsBound".
TEST(WhyNotTraining, RecoveringSaysWhatFailedAndWhichTryThisIs) {
  control::TrainingJob job = JobIn("Recovering");
  AddFalse(job, "Running", "RankFailed", "rank 1 of worker 0 ended with exit code 7 (Exited)");
  EXPECT_EQ(WhyNotTraining(job).sentence, "rank 1 of worker 0 ended with exit code 7 (Exited)")
      << "no failure is recorded yet";
  job.spec.mutable_failure_policy()->set_max_failures(2);
  auto& failures = *job.status.mutable_failures();
  failures.add_times("2026-01-01T00:00:00Z");
  failures.mutable_latest()->set_round(2);
  failures.mutable_latest()->set_rank(1);
  failures.mutable_latest()->set_exit_code(7);
  EXPECT_EQ(WhyNotTraining(job).sentence, "rank 1 ended with exit code 7; try 2 of 3");
  failures.mutable_latest()->set_signal(9);
  failures.mutable_latest()->set_reason("Signaled");
  EXPECT_EQ(WhyNotTraining(job).sentence, "rank 1 was killed by signal 9; try 2 of 3");
  failures.mutable_latest()->set_round(1);
  EXPECT_EQ(WhyNotTraining(job).sentence, "rank 1 of worker 0 ended with exit code 7 (Exited)")
      << "that failure was of an earlier round";
}

// The agent's own signal was shown, as if somebody had killed the rank.
TEST(WhyNotTraining, ARankThatStoppedAnsweringIsNotSaidToBeKilledBySignal9) {
  control::TrainingJob job = JobIn("Recovering");
  AddFalse(job, "Running", "RankFailed", "rank 1 is gone");
  auto& failure = *job.status.mutable_failures()->mutable_latest();
  failure.set_round(2);
  failure.set_rank(1);
  failure.set_exit_code(137);
  failure.set_signal(9);
  failure.set_reason("DeadlineExceeded");
  EXPECT_THAT(WhyNotTraining(job).sentence,
              ::testing::StartsWith("rank 1 did not answer in time and was killed by its agent; "));
}

// Regression: it was "Starting reason=PodsBound" if ranks ended before the first round was Active.
TEST(WhyNotTraining, AJobThatNeverTrainedSaysWhatFailedToo) {
  control::TrainingJob job = JobIn("Starting");
  AddFalse(job, "Running", "PreparingRound", "round 3 is being formed");
  EXPECT_EQ(WhyNotTraining(job).sentence, "");
  job.status.clear_conditions();
  AddFalse(job, "Running", "RankFailed", "rank 1 of worker 0 ended with exit code 7 (Exited)");
  auto& failures = *job.status.mutable_failures();
  failures.add_times("2026-01-01T00:00:00Z");
  failures.mutable_latest()->set_round(3);
  failures.mutable_latest()->set_rank(1);
  failures.mutable_latest()->set_exit_code(7);
  job.spec.mutable_failure_policy()->set_max_failures(2);
  EXPECT_EQ(WhyNotTraining(job).sentence, "rank 1 ended with exit code 7; try 2 of 3");
}

TEST(WhyNotTraining, AJobWithoutAPlaceSaysWhatIsMissing) {
  control::TrainingJob job = JobIn("Starting");
  EXPECT_EQ(WhyNotTraining(job).sentence, "");
  AddFalse(job, "Scheduled", "WaitingForPods", "0 of 2 pods are bound to nodes");
  EXPECT_EQ(WhyNotTraining(job).sentence, "") << "that is how every job begins";
  job.status.clear_conditions();
  AddFalse(job, "Scheduled", "Unschedulable", "a worker asks for 1 GPU");
  EXPECT_EQ(WhyNotTraining(job).sentence, "a worker asks for 1 GPU");
  job.status.set_state("Training");
  EXPECT_EQ(WhyNotTraining(job).sentence, "");
}

TEST(WhyNotTraining, TheReasonIsOfTheConditionThatTheStateComesFrom) {
  const auto reason = [](const std::string& state) {
    control::TrainingJob job = JobIn(state);
    AddFalse(job, "Admitted", "Accepted", "").set_status("True");
    AddFalse(job, "Running", "RankFailed", "");
    AddFalse(job, "Failed", "IdenticalFailures", "").set_status("True");
    AddFalse(job, "Scheduled", "PodsBound", "").set_status("True");
    return WhyNotTraining(job).reason;
  };
  EXPECT_EQ(reason("Recovering"), "RankFailed") << "not that its pods are bound";
  EXPECT_EQ(reason("Failed"), "IdenticalFailures");
  EXPECT_EQ(reason("Starting"), "PodsBound");
  EXPECT_EQ(reason("Training"), "");
  EXPECT_EQ(WhyNotTraining({}).reason, "");
}

TEST(WhyItNeverFits, IsTheMessageOfAPermanentReason) {
  control::TrainingJob job = JobIn("Starting");
  EXPECT_EQ(WhyItNeverFits(job), std::nullopt);
  AddFalse(job, "Scheduled", "Unschedulable", "a worker asks for 1 GPU");
  job.status.mutable_placement()->set_reason("NoNodeBigEnough");
  EXPECT_EQ(WhyItNeverFits(job), "a worker asks for 1 GPU");
  job.status.mutable_placement()->set_reason("WaitingForVictims");
  EXPECT_EQ(WhyItNeverFits(job), std::nullopt);
}

TEST(WhyItNeverFits, AVerdictOnAnOlderGenerationDoesNotCount) {
  control::TrainingJob job = JobIn("Starting");
  AddFalse(job, "Scheduled", "Unschedulable", "a worker asks for 1 GPU").set_observed_generation(1);
  job.status.mutable_placement()->set_reason("NoNodeBigEnough");
  EXPECT_EQ(WhyItNeverFits(job), std::nullopt);
}

}  // namespace
}  // namespace muster::cli
