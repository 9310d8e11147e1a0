#include "cli/show/job_description.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'660);  // 2026-01-01T00:01:00Z

control::TrainingJob Job() {
  return control::ParseTrainingJob(Json::parse(R"({
    "apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "gpt", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"workers": {"count": 2}, "checkpoint": {"uri": "/checkpoints/gpt"}},
    "status": {"state": "Training", "round": 3, "term": 1, "workers": {"ready": 2, "desired": 2},
      "progress": {"step": 40, "steps": 100, "loss": 2.5, "tokensPerSecond": 1000, "eta": "1m0s"},
      "checkpoint": {"step": 20, "uri": "/checkpoints/gpt/step-20", "time": "2026-01-01T00:00:30Z"},
      "failures": {"count": 1, "latest": {"worker": 1, "class": "Rank", "rule": "default",
                                          "action": "RestartWorker"}},
      "ledger": {"placing": 4, "starting": 8, "productive": 90, "communication": 12, "rework": 6},
      "cost": {"currency": "USD", "spent": 41.2, "lost": 2.06, "savedBySpot": 61.8,
               "energyKwh": 3.5, "energyLostKwh": 0.175,
               "workerSeconds": 120, "pricedSeconds": 120, "meteredSeconds": 90},
      "conditions": [{"type": "Running", "status": "True", "reason": "RoundActive",
        "message": "round 3 is\nactive", "lastTransitionTime": "2026-01-01T00:00:40Z"}]}})"))
      .value();
}

Json Pod() {
  return Json::parse(
      R"({"metadata": {"name": "gpt-0-1", "creationTimestamp": "2026-01-01T00:00:01Z"},
    "spec": {"nodeName": "node-a"}, "status": {"phase": "Running", "podIP": "10.0.0.1"}})");
}

Json Event(const std::string& reason) {
  return {{"involvedObject", {{"kind", "TrainingJob"}, {"name", "gpt"}}},
          {"type", "Normal"},
          {"reason", reason},
          {"message", "a sentence"},
          {"lastTimestamp", "2026-01-01T00:00:50Z"}};
}

JobSurroundings Around(std::vector<Json> pods, std::vector<Json> events) {
  JobSurroundings around;
  around.pods = std::move(pods);
  around.events = std::move(events);
  return around;
}

TEST(DescribeJobTest, ShowsEverythingThatIsKnown) {
  EXPECT_EQ(DescribeJob(Job(), Around({Pod()}, {Event("RoundActive")}), kNow),
            R"(Name:        gpt
Namespace:   team
Age:         60s
State:       Training
Workers:     2 ready of 2
Round:       3 (term 1)
Step:        40/100
Loss:        2.5000
Tokens/s:    1k
ETA:         1m0s
Checkpoint:  step 20, /checkpoints/gpt/step-20, 30s old
Failures:    1, and 0 not counted; the latest: worker 1, Rank, rule default: RestartWorker
Goodput:     85.0 % of the time did new steps: on nodes for 96.7 %, of that 87.9 %
Cost:        41.20 USD: 2.06 (5.0 %) lost by failures, 61.80 saved by spot nodes
Energy:      3.50 kWh: 0.17 (5.0 %) lost by failures; the power of 25.0 % of the time is not known

Time of the ranks:
USE             TIME    SHARE
placing         4.0s    3.3 %
starting        8.0s    6.7 %
productive      1m30s   75.0 %
communication   12s     10.0 %
rework          6.0s    5.0 %

Conditions:
TYPE      STATUS   REASON        AGE   MESSAGE
Running   True     RoundActive   20s   round 3 is active

Pods:
POD       PHASE     NODE     IP         AGE
gpt-0-1   Running   node-a   10.0.0.1   59s

Events:
LAST SEEN   TYPE     REASON        OBJECT            MESSAGE
10s         Normal   RoundActive   TrainingJob/gpt   a sentence
)");
}

TEST(DescribeJobTest, TheCostIsShownWhereAPriceIsKnown) {
  control::TrainingJob job;
  job.status.mutable_cost()->set_worker_seconds(100);
  job.status.mutable_cost()->set_priced_seconds(40);
  job.status.mutable_cost()->set_spent(3);
  const std::string text = DescribeJob(job, JobSurroundings(), kNow);
  EXPECT_THAT(text, HasSubstr("Cost:        3.00: 0.00 (0.0 %) lost by failures; the price of 60.0 "
                              "% of the time is not known\n"));
  EXPECT_THAT(text, Not(HasSubstr("Energy:")));
  job.status.clear_cost();
  EXPECT_THAT(DescribeJob(job, JobSurroundings(), kNow), Not(HasSubstr("Cost:")));
}

TEST(DescribeJobTest, ALocalJobShowsItsNewestStep) {
  JobSurroundings around;
  around.last_step.emplace();
  around.last_step->set_gradient_norm(1.25);
  around.last_step->set_loss_scale(32768);
  around.last_step->set_learning_rate(3e-4);
  EXPECT_THAT(
      DescribeJob(Job(), around, kNow),
      HasSubstr("Gradient:    norm 1.25, loss scale 32768\nRate:        0.0003 (learning rate)\n"));
}

TEST(DescribeJobTest, TuningsInForceAndAwaitedOnesAreShownWithSpikes) {
  control::TrainingJob job = Job();
  job.status.mutable_progress()->set_spikes(3);
  for (int i = 1; i <= 6; ++i) {
    auto& tuning = *job.status.add_tunings();
    tuning.set_step(10 * i);
    tuning.set_clip_norm(i);
    tuning.set_by("anna");
    job.spec.mutable_trainer()->add_tunings()->set_clip_norm(i);
  }
  auto& awaited = *job.spec.mutable_trainer()->add_tunings();
  awaited.set_learning_rate(1e-4);
  awaited.set_from_step(900);
  const std::string text = DescribeJob(job, JobSurroundings(), kNow);
  EXPECT_THAT(text, HasSubstr("Spikes:      3 steps far above those before\n"
                              "Tuned:       clip norm 2 from step 20 (asked by anna)\n"))
      << "the newest five";
  EXPECT_THAT(text, HasSubstr("Tuned:       clip norm 6 from step 60 (asked by anna)\n"
                              "To tune:     learning rate 0.0001 from step 900\n"));
}

TEST(DescribeJobTest, AFailureIsToldOnce) {
  control::TrainingJob job = Job();
  auto& failures = *job.status.mutable_failures();
  failures.set_evidence("worker 0 ended with exit code 2\nn_special is not known\n");
  failures.mutable_first()->set_worker(0);
  failures.mutable_first()->set_exit_code(2);
  const std::string once =
      "the first: worker 0 ended with exit code 2; it said: n_special is not known\n";
  EXPECT_THAT(DescribeJob(job, JobSurroundings(), kNow), HasSubstr(once));
  job.status.set_state("Failed");
  EXPECT_THAT(DescribeJob(job, JobSurroundings(), kNow), Not(HasSubstr("n_special")))
      << "its condition says it";
}

TEST(DescribeJobTest, AJobWithoutItsOperatorSaysSoUntilItIsSettled) {
  EXPECT_EQ(DescribeState(Job(), true), "Training");
  EXPECT_EQ(DescribeState(Job(), false), "Training (no operator)");
  control::TrainingJob job = Job();
  job.status.set_state("Suspended");
  EXPECT_EQ(DescribeState(job, false), "Suspended");
}

TEST(DescribeJobTest, ATimeLeftIsShownOnlyWhileTheJobTrains) {
  control::TrainingJob job = Job();
  job.status.set_state("Recovering");
  EXPECT_THAT(DescribeJob(job, JobSurroundings(), kNow), Not(HasSubstr("ETA:")));
}

TEST(DescribeJobTest, AJobThatNobodyHasSeenSaysSo) {
  control::TrainingJob job;
  job.name = "gpt";
  const std::string text = DescribeJob(job, JobSurroundings(), kNow);
  EXPECT_THAT(text, HasSubstr("State:       not seen by an operator\n"));
  EXPECT_THAT(text, Not(HasSubstr("Conditions")));
}

TEST(DescribeCheckpointsTest, ShowsTheNewestAndTheEventsOfSaves) {
  EXPECT_EQ(DescribeCheckpoints(Job(), {Event("CheckpointWritten"), Event("RoundActive")}, kNow),
            R"(Checkpoint:  step 20, /checkpoints/gpt/step-20, 30s old
Kept in:     /checkpoints/gpt

Events:
LAST SEEN   TYPE     REASON              OBJECT            MESSAGE
10s         Normal   CheckpointWritten   TrainingJob/gpt   a sentence
)");
  control::TrainingJob fresh;
  EXPECT_EQ(DescribeCheckpoints(fresh, {}, kNow), "Checkpoint:  none yet\n");
}

}  // namespace
}  // namespace muster::cli
