#include "cli/simulate/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/simulate/occupancy_svg.h"
#include "cli/simulate/sim_cluster.h"
#include "cli/simulate/sim_report.h"
#include "cli/simulate/sim_trace.h"

namespace muster::cli {
namespace {

using control::ScheduleAction;
using control::ScheduleReason;

constexpr char kCluster[] = R"(
levels: [rack]
pools:
- {name: h100, nodes: 4, gpus: 8, perDomain: [2]}
queues:
- {name: a, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: "16"}]}
- {name: b, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: "16"}]}
options: {stop: 10s, restart: 20s}
)";

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

SimReport Play(const char* cluster, const std::string& trace,
               const DecisionObserver& observer = nullptr) {
  const auto parsed = ParseCluster(cluster, "cluster.yaml");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const auto jobs = ParseTrace(trace, "trace.csv");
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  return Simulate(*parsed, jobs->jobs, observer);
}

TEST(Simulator, OneJobAfterTheOther) {
  const SimReport report = Play(kCluster,
                                "submit,duration,workers,gpus,queue,class\n"
                                "0,100,4,8,a,x\n"
                                "10,50,4,8,a,y\n");
  EXPECT_EQ(report.finished, 2);
  EXPECT_DOUBLE_EQ(report.makespan, 150);
  EXPECT_DOUBLE_EQ(report.utilisation, 1);
  EXPECT_DOUBLE_EQ(report.waits.at("y").mean, 90);
  EXPECT_DOUBLE_EQ(report.waits.at("x").most, 0);
  EXPECT_EQ(report.resource, kGpuResource);
  EXPECT_EQ(report.capacity, 32);
}

TEST(Simulator, AVictimLosesWhatItDidSinceItsLastCheckpoint) {
  std::vector<double> costs;
  Play(kCluster,
       "name,submit,duration,workers,gpus,queue,checkpoint\n"
       "borrower,0,1000,4,8,a,7\n"
       "owner,40,30,2,8,b,\n"
       "owner-again,103,30,2,8,b,\n",
       [&](absl::Time, const control::Decision& decision) {
         if (decision.action == ScheduleAction::kStop) costs.push_back(decision.numbers.cost);
       });
  // Each stop costs 32 GPUs the work since the last checkpoint (at 35 and, after the restart at 80,
  // at 101), plus 20 seconds to start.
  EXPECT_EQ(costs, (std::vector<double>{32 * (5 + 20), 32 * (2 + 20)}));
}

TEST(Simulator, AReclaimedJobSavesAndGoesOnWhereItWas) {
  std::map<std::string, std::vector<double>> starts;
  const SimReport report =
      Play(kCluster,
           "name,submit,duration,workers,gpus,queue,checkpoint\n"
           "borrower,0,100,4,8,a,60\n"
           "owner,40,30,2,8,b,60\n",
           [&](absl::Time now, const control::Decision& decision) {
             if (decision.action == ScheduleAction::kStart) {
               starts[decision.job.substr(0, decision.job.find('#'))].push_back(
                   absl::ToDoubleSeconds(now - absl::UnixEpoch()));
             }
           });
  // Told to stop at 40, gone at 50; the owner runs until 80; the restart takes 20, and 60 are left.
  EXPECT_EQ(starts["owner"], (std::vector<double>{50}));
  EXPECT_EQ(starts["borrower"], (std::vector<double>{0, 80}));
  EXPECT_DOUBLE_EQ(report.makespan, 160);
  EXPECT_EQ(report.stops, 1);
}

TEST(Simulator, AStoppedJobWithoutCheckpointsBeginsAnew) {
  const SimReport report = Play(kCluster,
                                "name,submit,duration,workers,gpus,queue\n"
                                "borrower,0,100,4,8,a\n"
                                "owner,40,30,2,8,b\n");
  EXPECT_EQ(report.stops, 1);
  // It restarts at 80, which takes 20, and has all of its 100 seconds ahead.
  EXPECT_DOUBLE_EQ(report.makespan, 200);
}

TEST(Simulator, AnElasticJobShrinksAndGrowsBack) {
  const SimReport report = Play(kCluster,
                                "submit,duration,workers,min,gpus,queue\n"
                                "0,100,4,2,8,a\n"
                                "40,30,2,2,8,b\n");
  EXPECT_EQ(report.stops, 0);
  EXPECT_EQ(report.shrinks, 1);
  EXPECT_EQ(report.grows, 1);
  // It trains 40 s with four workers, until 80 with two (worth 20), then 40 are left.
  EXPECT_DOUBLE_EQ(report.makespan, 120);
}

TEST(Simulator, AJobThatNeverFitsIsReported) {
  const SimReport report = Play(kCluster,
                                "submit,duration,workers,gpus,queue,require\n"
                                "0,100,3,8,a,rack\n");
  EXPECT_EQ(report.finished, 0);
  ASSERT_EQ(report.never_started.size(), 1u);
  EXPECT_EQ(report.never_started[0].jobs, 1);
}

TEST(Simulator, ABorrowerRunsForItsMinimumBetweenStops) {
  std::vector<int64_t> stops;
  for (const char* least : {"0s", "50m"}) {
    const std::string cluster = absl::StrCat(
        "levels: [rack]\n"
        "pools:\n"
        "- {name: h100, nodes: 4, gpus: 8, perDomain: [2]}\n"
        "queues:\n"
        "- {name: a, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: \"0\"}],\n"
        "   preemption: {minRuntime: ",
        least,
        "}}\n"
        "- {name: b, parent: all, quotas: [{resource: nvidia.com/gpu, nominal: \"32\"}]}\n"
        "options: {stop: 10s, restart: 20s}\n");
    std::string trace =
        "name,submit,duration,workers,gpus,queue,checkpoint\nborrower,0,9000,4,8,a,10\n";
    for (int i = 0; i < 7; ++i) {
      absl::StrAppend(&trace, "owner-", i, ",", 400 + 800 * i, ",100,1,8,b,\n");
    }
    const SimReport report = Play(cluster.c_str(), trace);
    EXPECT_EQ(report.finished, 8);
    stops.push_back(report.stops);
  }
  EXPECT_EQ(stops[0], 7);
  EXPECT_LE(stops[1], 2);
  EXPECT_GE(stops[1], 1) << "then its time is over";
}

// 600 jobs, half of them elastic, on 16 nodes whose GPUs are busy for 86 % of the time.
TEST(Simulator, JobsWaitForLessOnceElasticOnesShrinkForTheBacklogAndNoMoreGpusAreIdle) {
  std::mt19937 random(7);
  const auto draw = [&random](int below) { return static_cast<int>(random() % below); };
  std::string trace = "submit,duration,workers,min,gpus,queue,checkpoint\n";
  int submit = 0;
  for (int i = 0; i < 600; ++i) {
    submit += draw(6400);
    const int workers = std::vector<int>{1, 1, 2, 2, 4, 8}[draw(6)];
    absl::StrAppend(&trace, submit, ",", 1800 + draw(27'000), ",", workers, ",",
                    std::max(1, workers / 4), ",8,q,600\n");
  }
  std::vector<SimReport> reports;
  for (const char* preemption : {"{}", "{shrinkAfter: 10m, minRuntime: 20m}"}) {
    const std::string cluster = absl::StrCat(
        "levels: [rack]\n"
        "pools:\n"
        "- {name: h100, nodes: 16, gpus: 8, perDomain: [4]}\n"
        "queues:\n"
        "- {name: q, quotas: [{resource: nvidia.com/gpu, nominal: \"128\"}], preemption: ",
        preemption, "}\noptions: {stop: 30s, restart: 60s}\n");
    reports.push_back(Play(cluster.c_str(), trace));
    EXPECT_EQ(reports.back().finished, 600);
    EXPECT_EQ(reports.back().stops, 0);
  }
  EXPECT_EQ(reports[0].shrinks, 0);
  EXPECT_LT(reports[1].waits.at("q").mean, reports[0].waits.at("q").mean / 2);
  EXPECT_GT(reports[1].utilisation, reports[0].utilisation - 0.005);
}

// The job behind would wait until the borrower's end, for a job that can never be placed.
TEST(Simulator, AJobThatFitsNowhereHoldsUpNobody) {
  const SimReport report = Play(kCluster,
                                "name,submit,duration,workers,gpus,queue,require,class\n"
                                "borrower,0,360000,4,8,b,,b\n"
                                "wide,10,100,3,8,a,rack,wide\n"
                                "next,20,100,2,8,a,,next\n");
  ASSERT_EQ(report.never_started.size(), 1u);
  EXPECT_EQ(report.never_started[0].reason, "FitsNowhere");
  EXPECT_EQ(report.never_started[0].first, "wide");
  EXPECT_DOUBLE_EQ(report.waits.at("next").mean, 10);
  EXPECT_EQ(report.stops, 1);
}

TEST(Simulator, JobsThatNeverStartedAreReportedByReason) {
  const SimReport report = Play(kCluster,
                                "name,submit,duration,workers,gpus,queue,require\n"
                                "wide-0,0,100,3,8,a,rack\n"
                                "wide-1,0,100,3,8,a,rack\n"
                                "lost,0,100,1,8,nowhere,\n"
                                "fine,0,100,1,8,b,\n");
  EXPECT_EQ(report.finished, 1);
  EXPECT_EQ(JobsNeverStarted(report), 3);
  ASSERT_EQ(report.never_started.size(), 2u);
  EXPECT_EQ(report.never_started[0].reason, "FitsNowhere");
  EXPECT_EQ(report.never_started[0].jobs, 2);
  EXPECT_EQ(report.never_started[0].first, "wide-0");
  EXPECT_EQ(report.never_started[1].reason, "NoSuchQueue");
  const std::string text = ReportText(report);
  EXPECT_TRUE(absl::StrContains(text, "3 never started")) << text;
  EXPECT_TRUE(absl::StrContains(text, "never started  1: NoSuchQueue; lost: ")) << text;
  EXPECT_TRUE(absl::StrContains(text, "nowhere")) << text;
  EXPECT_EQ(ReportJson(report)["neverStartedReasons"][0]["jobs"], 2);
}

TEST(Simulator, FairnessIsJainsIndexByWeight) {
  std::string trace = "submit,duration,workers,gpus,queue\n";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&trace, "0,100,1,8,", i % 2 ? "a" : "b", "\n");
  const SimReport report = Play(kCluster, trace);
  EXPECT_NEAR(report.fairness, 1, 0.02);
  EXPECT_GT(report.utilisation, 0.99);
}

// 15,000 jobs on 640 nodes in 5 cohorts of 6 queues, as generated by Kueue.
TEST(Simulator, KueuesGenerator) {
  const auto trace = ParseTrace(Read("examples/simulate/generator.yaml"), "generator.yaml");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->jobs.size(), 15'000u);
  ASSERT_TRUE(trace->cluster.has_value());
  EXPECT_EQ(trace->cluster->inventory.nodes.size(), 640u);
  EXPECT_EQ(trace->cluster->queues.size(), 30u);
  const SimReport report = Simulate(*trace->cluster, trace->jobs);
  EXPECT_EQ(report.finished, 15'000);
  // The work of the trace takes at least 66 s with a quota of 600 CPUs.
  EXPECT_LT(report.makespan, 66 * 1.1);
  EXPECT_GE(report.makespan, 60);
}

TEST(Simulator, TheExampleRunsAndIsDrawn) {
  const auto cluster = ParseCluster(Read("examples/simulate/cluster.yaml"), "cluster.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const auto trace = ParseTrace(Read("examples/simulate/trace.csv"), "trace.csv");
  ASSERT_TRUE(trace.ok()) << trace.status();
  const SimReport report = Simulate(*cluster, trace->jobs);
  EXPECT_EQ(report.finished, report.jobs);
  EXPECT_GT(report.stops + report.shrinks, 0);
  EXPECT_TRUE(absl::StrContains(ReportText(report), "utilisation"));
  EXPECT_EQ(ReportJson(report)["finished"], report.jobs);
  const std::string svg = OccupancySvg(report, "a <title>");
  EXPECT_TRUE(absl::StartsWith(svg, "<svg"));
  EXPECT_TRUE(absl::EndsWith(svg, "</svg>\n"));
  EXPECT_TRUE(absl::StrContains(svg, "a &lt;title&gt;"));
  EXPECT_FALSE(absl::StrContains(svg, "nan"));
}

TEST(Simulator, IsDeterministic) {
  const auto cluster = ParseCluster(Read("examples/simulate/cluster.yaml"), "cluster.yaml");
  const auto trace = ParseTrace(Read("examples/simulate/trace.csv"), "trace.csv");
  ASSERT_TRUE(cluster.ok() && trace.ok());
  const auto once = DumpJson(ReportJson(Simulate(*cluster, trace->jobs)));
  EXPECT_EQ(DumpJson(ReportJson(Simulate(*cluster, trace->jobs))), once);
}

}  // namespace
}  // namespace muster::cli
