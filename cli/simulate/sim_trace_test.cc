#include "cli/simulate/sim_trace.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/simulate/sim_cluster.h"

namespace muster::cli {
namespace {

std::string TraceError(const std::string& text) {
  return std::string(ParseTrace(text, "t").status().message());
}
std::string ClusterError(const std::string& text) {
  return std::string(ParseCluster(text, "c").status().message());
}

TEST(Trace, ReadsEveryColumn) {
  const auto trace = ParseTrace(
      "# a comment\n"
      "name, submit, duration, workers, min, gpus, cpu, memory, queue, namespace, priority, class, "
      "estimate, require, prefer, slice, sliceLevel, checkpoint, maxFraction, onDemandFloor\n"
      "late, 20, 60, 4, 2, 8, 12, 100Gi, q, team, 5, big, 90, leaf, rack, 2, host, 10, 0.5, 1\n"
      "\n"
      "early, 10.5, 60, 1, , , , , , , , , , , , , , , , \n",
      "t");
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->jobs.size(), 2u);
  const SimJob& early = trace->jobs[0];
  EXPECT_EQ(early.job.name, "early");
  EXPECT_EQ(early.job.runtime, std::nullopt) << "an empty estimate is none";
  EXPECT_EQ(early.job_class, "all");
  EXPECT_EQ(early.job.request.per_worker.cpu_millis, 1000);
  const SimJob& late = trace->jobs[1];
  EXPECT_EQ(late.job.created, absl::UnixEpoch() + absl::Seconds(20));
  EXPECT_EQ(late.job.runtime, absl::Seconds(90));
  EXPECT_EQ(late.duration, absl::Seconds(60));
  EXPECT_EQ(late.checkpoint_every, absl::Seconds(10));
  EXPECT_EQ(late.job.request.min, 2);
  EXPECT_EQ(late.job.request.max, 4);
  EXPECT_EQ(late.job.request.required_level, "leaf");
  EXPECT_EQ(late.job.request.preferred_level, "rack");
  ASSERT_EQ(late.job.request.slices.size(), 1u);
  EXPECT_EQ(late.job.request.slices[0].size, 2);
  EXPECT_EQ(late.job.request.spot, (control::SpotBounds{true, true, 0.5, 1}));
  EXPECT_EQ(early.job.request.spot, control::SpotBounds());
  EXPECT_EQ(late.job.quota_per_worker.at(kCpuResource), 12'000);
  EXPECT_EQ(late.job.quota_per_worker.at(kGpuResource), 8);
}

TEST(Trace, AGeneratorsFileIsKnownWhateverYamlBeginsItWith) {
  const std::string generator = "cohorts:\n- {clasName: x}";
  const std::string misread = TraceError(generator);
  EXPECT_EQ(misread.substr(0, 45), "t: cohorts[0].clasName: is not known here; kn");
  for (const char* start : {"---\n", "--- # the first\n", "# comment\n---\n", "%YAML 1.2\n---\n",
                            "\n\n# a: b\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF---\r\n"}) {
    EXPECT_EQ(TraceError(start + generator), misread) << start;
  }
  EXPECT_EQ(TraceError("{\n\"cohorts\": [{\"clasName\": 1}]}"), misread);
}

TEST(Trace, ATableIsKnownWhateverStandsInItsRows) {
  for (const char* start : {"", "\xEF\xBB\xBF", "# k: v\n"}) {
    const auto trace = ParseTrace(start + std::string("name,submit\n--- a: {b},1\n"), "t");
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(trace->jobs[0].job.name, "--- a: {b}");
  }
}

TEST(Trace, ErrorsNameTheLine) {
  EXPECT_EQ(TraceError(""), "t: is empty");
  EXPECT_EQ(TraceError("submit,duration\n"), "t: has no jobs");
  EXPECT_EQ(TraceError("submit,duration\n1\n"), "t:2: has 1 fields, the header has 2");
  EXPECT_EQ(TraceError("submit,duration\n1,soon\n"), "t:2: duration: must be seconds, 0 or more");
  EXPECT_EQ(TraceError("submit,workers\n1,0\n"), "t:2: workers: must be 1 to 100000");
  EXPECT_EQ(TraceError("submit,workers,min\n1,2,3\n"), "t:2: min: must be 1 to 2");
  EXPECT_EQ(TraceError("submit,maxFraction\n1,1.5\n"), "t:2: maxFraction: must be 0 to 1");
  EXPECT_EQ(TraceError("submit,maxFraction\n1,nan\n"), "t:2: maxFraction: must be 0 to 1");
  EXPECT_EQ(TraceError("submit,workers,onDemandFloor\n1,2,3\n"),
            "t:2: onDemandFloor: must be 0 to 2");
  EXPECT_EQ(TraceError("submit,cpu\n1,lots\n"), "t:2: cpu: \"lots\" of cpu is no amount");
  EXPECT_EQ(TraceError("when\n").substr(0, 32), "t:1: there is no column \"when\"; ");
}

TEST(Trace, ErrorsOfAGeneratorNameTheField) {
  EXPECT_EQ(TraceError("cohorts: []\n"), "t: has no jobs");
  EXPECT_EQ(
      TraceError("cohorts:\n- {queuesSets: [{workloadsSets: [{workloads: [{podCount: 0}]}]}]}"),
      "t: cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].podCount: must be 1 to 100000");
  EXPECT_EQ(TraceError("cohorts:\n- {clasName: x}").substr(0, 45),
            "t: cohorts[0].clasName: is not known here; kn");
}

// Regression: each meant "none", or another word.
TEST(Trace, WordsThatAGeneratorDoesNotKnowAreRefused) {
  const auto queue = [](const std::string& field) {
    return TraceError("cohorts:\n- {queuesSets: [{" + field + "}]}\n");
  };
  EXPECT_EQ(queue("reclaimWithinCohort: any"),
            "t: cohorts[0].queuesSets[0].reclaimWithinCohort: \"any\" is not known here; known: "
            "Any, LowerPriority, Never");
  EXPECT_EQ(queue("withinClusterQueue: LowerOrNewerEqualPriority"),
            "t: cohorts[0].queuesSets[0].withinClusterQueue: \"LowerOrNewerEqualPriority\" is not "
            "known here; known: LowerPriority, Never");
  EXPECT_EQ(queue("workloadsSets: [{workloads: [{tasConstraint: requird}]}]"),
            "t: cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].tasConstraint: \"requird\" "
            "is not known here; known: balanced, preferred, required");
}

TEST(Cluster, WordsThatAQueueDoesNotKnowAreRefused) {
  EXPECT_EQ(
      ClusterError("pools: [{nodes: 4}]\n"
                   "queues: [{name: q, preemption: {reclaim: any}}]"),
      "c: queues[0]: spec.preemption.reclaim: want Any, LowerPriority or Never, got the string "
      "\"any\"");
}

TEST(Cluster, APoolsLabelsSayWhichNodesAreSpotNodes) {
  const auto cluster = ParseCluster(
      "pools:\n- {name: a, nodes: 1}\n- {name: b, nodes: 2, labels: {karpenter.sh/capacity-type: "
      "spot, node.kubernetes.io/instance-type: p5}}\n",
      "c");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  ASSERT_EQ(cluster->inventory.nodes.size(), 3u);
  ASSERT_EQ(cluster->labels.size(), 3u);
  EXPECT_FALSE(cluster->inventory.nodes[0].spot);
  EXPECT_TRUE(cluster->inventory.nodes[1].spot);
  EXPECT_TRUE(cluster->inventory.nodes[2].spot);
  EXPECT_EQ(cluster->inventory.nodes[2].spot_pool, "p5 ");
  EXPECT_EQ(cluster->labels[2].Value("karpenter.sh/capacity-type"), "spot");
}

TEST(Cluster, ErrorsNameTheField) {
  EXPECT_EQ(ClusterError("pools:\n- {labels: {example.com/n: 1}}"),
            "c: pools[0].labels: the value of example.com/n must be text: put it in quotes");
  EXPECT_EQ(ClusterError("levels: []"), "c: pools: is missing: a cluster needs nodes");
  EXPECT_EQ(ClusterError("levels: [rack]\npools: [{nodes: 4}]"),
            "c: pools[0].perDomain: must have one number for each of the file's levels");
  EXPECT_EQ(ClusterError("pools: [{nodes: 4}]\nqueues: [{name: q, wieght: 1}]").substr(0, 29),
            "c: queues[0]: spec.wieght: un");
  EXPECT_EQ(ClusterError("pools: [{nodes: 4}]\noptions: {stop: soon}"),
            "c: options.stop: must be a duration like 90s or 24h");
  EXPECT_EQ(ClusterError("pools: [{nodes: 4, cpu: many}]"),
            "c: pools[0].cpu: \"many\" of cpu is no amount");
  EXPECT_EQ(ClusterError("pools: [{nodes: 0}]"), "c: pools[0].nodes: must be 1 to 100000");
}

TEST(Cluster, ANegativeNumberIsRefused) {
  EXPECT_EQ(ClusterError("pools: [{nodes: 4, gpus: -1}]"), "c: pools[0].gpus: must be 0 to 1000");
  EXPECT_EQ(ClusterError("pools: [{nodes: 4, pods: -1}]"), "c: pools[0].pods: must be 1 to 100000");
  EXPECT_EQ(ClusterError("pools: [{nodes: 4, cpu: \"-1\"}]"),
            "c: pools[0].cpu: \"-1\" of cpu is no amount");
  EXPECT_EQ(ClusterError("pools: [{nodes: 4}]\noptions: {backfillDepth: -1}"),
            "c: options.backfillDepth: must be 0 to 1000000");
  EXPECT_EQ(TraceError("cohorts:\n- {count: -1}"), "t: cohorts[0].count: must be 0 to 2000000");
  EXPECT_EQ(TraceError("submit,gpus\n1,-1\n"), "t:2: gpus: must be 0 to 64");
}

}  // namespace
}  // namespace muster::cli
