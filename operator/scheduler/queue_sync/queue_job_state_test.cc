#include "operator/scheduler/queue_sync/queue_job_state.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/objects/object_records.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// A job with a deadline of an hour that was created ten hours ago, and has its nodes for ten
// minutes.
TrainingJob OldJob() {
  TrainingJob job;
  job.ns = "default";
  job.name = "gpt";
  job.uid = "uid";
  job.status.set_start_time(FormatWall(kNow - absl::Hours(10)));
  job.status.set_active_seconds(1200);
  return job;
}

QueueJobState StandingOf(TrainingJob job) {
  QueueJobState standing;
  standing.job = std::make_shared<const TrainingJob>(std::move(job));
  standing.spec.set_active_deadline("1h");
  standing.started = kNow - absl::Minutes(10);
  return standing;
}

Gang GangOf(int workers) {
  Gang gang;
  for (int i = 0; i < workers; ++i) {
    const std::string name = "gpt-" + std::to_string(i) + "-1";
    const Json pod = {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
                      {"spec", {{"containers", Json::array({{{"name", "worker"}}})}}}};
    gang.unbound[{i, name}] = std::make_shared<const PodRecord>(ParsePodRecord(pod).value());
  }
  return gang;
}

TEST(QueueJobStateTest, TheDeadlineThatTheQueueCountsIsTheOneThatIsEnforced) {
  TrainingJob job = OldJob();
  job.status.set_active_since(FormatWall(kNow - absl::Minutes(5)));
  EXPECT_EQ(EndOf(StandingOf(job)), kNow + absl::Minutes(35)) << "20 + 5 of 60 minutes are over";
}

TEST(QueueJobStateTest, BeforeItsRoundTheDeadlineBeginsWithItsNodes) {
  EXPECT_EQ(EndOf(StandingOf(OldJob())), kNow + absl::Minutes(30));
}

TEST(QueueJobStateTest, AWaitingJobRunsForWhatIsLeftOfItsDeadline) {
  const ClusterModel model;
  EXPECT_EQ(MakeWaiting(StandingOf(OldJob()), GangOf(1), model).runtime, absl::Minutes(40));
}

TEST(QueueJobStateTest, AGangIsWholeWithoutThoseWhoseCommandsEnded) {
  QueueJobState standing = StandingOf(OldJob());
  standing.spec.mutable_workers()->set_count(3);
  EXPECT_FALSE(IsWhole(standing, GangOf(2)));
  standing.ended = {2, 7};
  EXPECT_TRUE(IsWhole(standing, GangOf(2)));
  EXPECT_EQ(OpenWorkers(standing, 2), 2);
  EXPECT_EQ(OpenWorkers(standing, 10), 8);
}

TEST(QueueJobStateTest, ASpareThatTrainsInThePlaceOfAnotherIsNotYielded) {
  QueueJobState standing = StandingOf(OldJob());
  standing.spec.mutable_workers()->set_count(3);
  standing.spec.mutable_workers()->set_spares(2);
  standing.entitled = 5;
  Gang gang = GangOf(5);
  const auto bind = [&](int worker) {
    const auto pod = gang.unbound.extract(gang.unbound.lower_bound({worker, ""}));
    gang.bound[pod.key()] = {pod.mapped(), "node-" + std::to_string(worker), true};
  };
  for (const int worker : {0, 2, 3, 4}) bind(worker);
  EXPECT_EQ(MakeRunning(standing, &gang, {}, ClusterModel()).extra_workers(), 1);
  bind(1);
  EXPECT_EQ(MakeRunning(standing, &gang, {}, ClusterModel()).extra_workers(), 2);
}

TEST(QueueJobStateTest, AJobThatGrowsIsLimitedToTheSizeThatItWasGiven) {
  TrainingJob job = OldJob();
  QueueJobState standing = StandingOf(job);
  standing.spec.mutable_workers()->set_count(2);
  EXPECT_EQ(LimitOf(standing, std::nullopt), std::nullopt) << "a job of a fixed size has none";
  standing.larger_sizes = {4, 6};
  EXPECT_EQ(LimitOf(standing, std::nullopt), 2);
  job.status.mutable_elastic()->set_workers(5);
  standing.job = std::make_shared<const TrainingJob>(job);
  EXPECT_EQ(LimitOf(standing, std::nullopt), 4) << "five is no size of its layout any more";
  QueueOrder order;
  order.workers = 6;
  standing.limit = LimitOf(standing, order);
  EXPECT_EQ(standing.limit, 6) << "an order that is yet to be written";
  EXPECT_EQ(WantedWorkers(standing), 6);
  job.status.mutable_preemption()->set_workers(1);
  standing.job = std::make_shared<const TrainingJob>(job);
  EXPECT_EQ(LimitOf(standing, std::nullopt), 1) << "its queue has taken workers";
}

TEST(QueueJobStateTest, AJobThatKeepsFewerWorkersAsksForNoMore) {
  TrainingJob job = OldJob();
  job.status.mutable_preemption()->set_workers(2);
  job.status.mutable_elastic()->set_kept(2);
  QueueJobState standing = StandingOf(job);
  standing.spec.mutable_workers()->set_count(4);
  standing.entitled = 2;
  standing.limit = LimitOf(standing, std::nullopt);
  const Gang gang = GangOf(2);
  EXPECT_EQ(MakeRunning(standing, &gang, {}, ClusterModel()).request.max, 2);
  job.status.mutable_elastic()->clear_kept();
  standing.job = std::make_shared<const TrainingJob>(job);
  EXPECT_EQ(MakeRunning(standing, &gang, {}, ClusterModel()).request.max, 4) << "it gets them back";
}

}  // namespace
}  // namespace muster::control
