#include "operator/metrics/metrics.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/metrics/exposition.h"
#include "operator/metrics/metric_catalog.h"
#include "operator/metrics/metric_table.h"
#include "operator/web/job_metrics.h"
#include "operator/web/live_metrics.h"
#include "operator/web/test_deps.h"

namespace muster::control {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Counts every event once.
void Exercise(Metrics& metrics) {
  metrics.RoundOpened("FirstRound");
  metrics.RoundBroke("RankFailed");
  metrics.Recovered("RankFailed", absl::Seconds(1.2));
  metrics.FailureEvaluated("NodeLost", "Ignore");
  metrics.StatusWritten(/*progress_only=*/true);
  metrics.Throttled(absl::Milliseconds(3));
  metrics.WatchEnded("pods", "Expired");
  metrics.LeaderChanged();
  metrics.ReceiverAdded("chat");
  metrics.Notified("chat", /*taken=*/false);
}

// Adds a job that has a value for every metric of a job.
void AddTrainingJob(PageWorld& world, const std::string& name) {
  Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
  job["metadata"]["uid"] = name;
  job["spec"] = {{"queue", "research"},
                 {"workers", {{"count", 2}, {"spares", 3}}},
                 {"trainer", {{"train", {{"steps", 10}}}}},
                 {"alerts", {{{"name", "spike"}, {"kind", "LossSpike"}}}}};
  job["status"] = Json::parse(R"({
    "state": "Training", "round": 3, "workers": {"desired": 2, "ready": 1, "spares": 0},
    "failures": {"count": 4, "ignored": 5}, "placement": {"score": 0.5},
    "ledger": {"productive": 80, "unreported": 3},
    "cost": {"currency": "USD", "spent": 12.5, "lost": 0.5, "savedBySpot": 7, "energyKwh": 2,
             "energyLostKwh": 0.25, "workerSeconds": 90, "pricedSeconds": 90, "meteredSeconds": 60},
    "checkpoint": {"step": 7, "time": "2030-01-01T00:00:00.000Z"},
    "conditions": [{"type": "Checkpointed", "status": "False", "reason": "CheckpointFailed"}]})");
  world.jobs.Upsert(job, 1000);
  v1alpha1::StepReports reports;
  v1alpha1::StepReport& step = *reports.add_steps();
  step.mutable_version()->set_step(8);
  step.set_loss(2.5);
  step.set_validation_loss(2.75);
  step.set_finished_at_us(1'500'000);
  step.mutable_times()->set_compute(0.25);
  step.mutable_device_memory()->set_total(80);
  step.mutable_device_memory()->set_reserved(70);
  step.mutable_device_memory()->set_allocated_peak(60);
  step.mutable_device_memory()->set_retries(3);
  world.progress.RecordSteps(name, reports);
}

TEST(MetricsTest, EveryMetricOfTheCatalogueIsOnThePageOnceAndNoOther) {
  PageWorld world;
  world.AddJob("gpt");
  world.Settle();
  EXPECT_TRUE(world.trouble.ok()) << world.trouble;
  Exercise(world.metrics);
  AddTrainingJob(world, "trains");
  std::vector<std::string> exported;
  for (const prometheus::MetricFamily& family : CollectMetrics(world.Deps())) {
    MetricSpec spec{family.name, family.type, {}, family.help};
    EXPECT_FALSE(family.metric.empty()) << family.name;
    for (const auto& metric : family.metric) {
      spec.labels.clear();
      for (const auto& label : metric.label) spec.labels.push_back(label.name);
    }
    exported.push_back(MetricRow(spec));
  }
  EXPECT_THAT(exported, testing::UnorderedElementsAreArray(MetricRows()));
}

TEST(MetricsTest, NamesFollowThePrometheusConventions) {
  for (int id = 0; id < static_cast<int>(MetricId::kCount); ++id) {
    const MetricSpec& spec = SpecOf(static_cast<MetricId>(id));
    const bool total = spec.name.size() > 6 && spec.name.substr(spec.name.size() - 6) == "_total";
    EXPECT_EQ(spec.type == prometheus::MetricType::Counter, total) << spec.name;
    EXPECT_EQ(spec.type == prometheus::MetricType::Histogram, !spec.buckets.empty()) << spec.name;
    EXPECT_TRUE(std::is_sorted(spec.buckets.begin(), spec.buckets.end())) << spec.name;
    for (const char* unit : {"milli", "micro", "_ms", "_mb", "minutes"}) {
      EXPECT_THAT(spec.name, Not(HasSubstr(unit)));
    }
    EXPECT_EQ(spec.help.back(), '.') << spec.name;
    // These are a scrape's own labels; Prometheus would rename an exported one to exported_job.
    EXPECT_THAT(spec.labels, Not(Contains(AnyOf("job", "instance")))) << spec.name;
  }
}

TEST(MetricsTest, FiguresOfTheWorldAreOnThePage) {
  PageWorld world;
  world.AddJob("gpt");
  world.Settle();
  Exercise(world.metrics);
  world.leader.leading = false;
  const std::string text = ToText(CollectMetrics(world.Deps()));
  EXPECT_THAT(text, HasSubstr("muster_reconcile_total{result=\"success\"} "));
  EXPECT_THAT(text, HasSubstr("muster_cache_objects{resource=\"trainingjobs\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("muster_jobs{state=\"Training\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("muster_leader 0\n"));
  EXPECT_THAT(text, HasSubstr("muster_agents_refused_total{reason=\"Replaced\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("muster_watch_lists_total{resource=\"trainingjobs\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("muster_recovery_duration_seconds_sum{class=\"RankFailed\"} 1.2\n"));
  EXPECT_THAT(text, HasSubstr("muster_failures_total{class=\"NodeLost\",action=\"Ignore\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("muster_status_writes_total{kind=\"progress\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("muster_alert_notifications_total{receiver=\"chat\",result="
                              "\"error\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("muster_alert_notifications_total{receiver=\"chat\",result="
                              "\"success\"} 0\n"));
  EXPECT_THAT(
      text,
      HasSubstr("muster_api_requests_total{verb=\"list\",resource=\"pods\",code=\"200\"} 1\n"));
}

TEST(MetricsTest, ARateSeesTheFirstEventOfEachKind) {
  PageWorld world;
  const std::string text = ToText(CollectMetrics(world.Deps()));
  EXPECT_THAT(text, HasSubstr("muster_rounds_opened_total{reason=\"FirstRound\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("muster_recoveries_total{class=\"WorkerLost\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("muster_recovery_duration_seconds_count{class=\"RankFailed\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("muster_failures_total{class=\"RankKilled\",action=\"FailJob\"} 0\n"));
}

TEST(MetricsTest, FiguresOfAJobAreOnThePage) {
  PageWorld world;
  AddTrainingJob(world, "trains");
  const std::string text = ToText(CollectMetrics(world.Deps()));
  const auto line = [](const std::string& name, const std::string& more, const std::string& value) {
    return absl::StrCat("muster_job_", name, "{training_job=\"default/trains\"", more, "} ", value,
                        "\n");
  };
  EXPECT_THAT(text, HasSubstr(line("info", ",queue=\"research\",state=\"Training\"", "1")));
  EXPECT_THAT(text, HasSubstr(line("step", "", "8")));
  EXPECT_THAT(text, HasSubstr(line("steps", "", "10")));
  EXPECT_THAT(text, HasSubstr(line("validation_loss", "", "2.75")));
  EXPECT_THAT(text, HasSubstr(line("last_step_timestamp_seconds", "", "1.5")));
  EXPECT_THAT(text, HasSubstr(line("time_seconds_total", ",phase=\"compute\"", "0.25")));
  EXPECT_THAT(text, HasSubstr(line("rank_seconds_total", ",use=\"productive\"", "80")));
  EXPECT_THAT(text, HasSubstr(line("rank_seconds_total", ",use=\"queued\"", "0")));
  EXPECT_THAT(text, Not(HasSubstr("use=\"unreported\"")));
  EXPECT_THAT(text, HasSubstr(line("checkpoint_step", "", "7")));
  EXPECT_THAT(text, HasSubstr(line("checkpoint_timestamp_seconds", "", "1893456000")));
  EXPECT_THAT(text, HasSubstr(line("checkpoint_failing", "", "1")));
  EXPECT_THAT(text, HasSubstr(line("rounds_total", "", "3")));
  EXPECT_THAT(text, HasSubstr(line("failures_total", ",counted=\"true\"", "4")));
  EXPECT_THAT(text, HasSubstr(line("failures_total", ",counted=\"false\"", "5")));
  EXPECT_THAT(text, HasSubstr(line("workers", ",state=\"desired\"", "2")));
  EXPECT_THAT(text, HasSubstr(line("workers", ",state=\"ready\"", "1")));
  EXPECT_THAT(text, HasSubstr(line("workers", ",state=\"spare\"", "0"))) << "it wants some";
}

TEST(MetricsTest, JobsThatWaitTakeNoSeriesFromOneThatTrains) {
  PageWorld world;
  for (int i = 0; i < 150; ++i) world.AddJob(absl::StrCat("job-", i));
  world.jobs_reflector.RunOnce(absl::ZeroDuration());
  AddTrainingJob(world, "trains");
  size_t named = 0;
  std::string loss_of;
  double left_out = -1;
  for (const auto& family : CollectMetrics(world.Deps())) {
    if (family.name == "muster_job_info") named = family.metric.size();
    if (family.name == "muster_job_loss") loss_of = family.metric.front().label.front().value;
    if (family.name == "muster_jobs_without_series") left_out = family.metric.front().gauge.value;
  }
  EXPECT_EQ(named, 1 + kMaxOtherJobs);
  EXPECT_EQ(loss_of, "default/trains");
  EXPECT_EQ(left_out, 0);
}

TEST(MetricsTest, TheNewestFailuresAreNamedWhateverElseThereIs) {
  PageWorld world;
  for (int i = 0; i < 150; ++i) world.AddJob(absl::StrCat("job-", i));
  world.jobs_reflector.RunOnce(absl::ZeroDuration());
  for (size_t i = 0; i <= kMaxOtherJobs; ++i) {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", absl::StrCat("zz-", i)});
    job["metadata"]["uid"] = absl::StrCat("zz-", i);
    job["spec"] = {{"workers", {{"count", 1}}}};
    const std::string time =
        FormatWall(absl::FromUnixSeconds(1'900'000'000 + static_cast<int64_t>(i)));
    job["status"] = {{"state", "Failed"},
                     {"completionTime", time},
                     {"conditions", {{{"type", "Failed"}, {"status", "True"}, {"reason", "x"}}}}};
    world.jobs.Upsert(job, 1000 + i);
  }
  const std::string text = ToText(CollectMetrics(world.Deps()));
  EXPECT_THAT(text,
              HasSubstr("training_job=\"default/zz-100\",queue=\"default\",state=\"Failed\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("training_job=\"default/zz-0\"")));
  EXPECT_THAT(text, Not(HasSubstr("training_job=\"default/job-0\"")));
}

TEST(MetricsTest, SeriesStayBoundedWithManyJobs) {
  PageWorld world;
  for (int i = 0; i < 150; ++i) world.AddJob(absl::StrCat("job-", i));
  world.Settle();
  v1alpha1::StepReports reports;
  reports.add_steps()->mutable_version()->set_step(1);
  for (const auto& job : world.jobs.List()) world.progress.RecordSteps(job->uid, reports);
  size_t with_job = 0;
  double left_out = 0;
  for (const auto& family : CollectMetrics(world.Deps())) {
    if (family.name == "muster_job_step") with_job = family.metric.size();
    if (family.name == "muster_jobs_without_series") left_out = family.metric.front().gauge.value;
  }
  EXPECT_EQ(with_job, kMaxJobSeries);
  EXPECT_EQ(left_out, 50);
}

}  // namespace
}  // namespace muster::control
