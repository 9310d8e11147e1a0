// Tests the cost of a job in the whole operator, on virtual time. One node is a spot node, one
// names its own price and one has no price; operator processes die meanwhile.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/cost/price_table.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using v1alpha1::CostStatus;

constexpr double kSecondsPerHour = 3600;

PriceTable Table() {
  PriceTable table;
  table.currency = "EUR";
  table.rows["big"] = {.per_hour = 360, .spot_per_hour = 90, .watts = 7200};
  return table;
}

class CostTest : public testing::Test {
 protected:
  // Each node has room for one worker, which takes a quarter of its CPUs.
  void AddNode(const std::string& name, const Json& labels) {
    world_.AddNode(name, 1);
    ASSERT_TRUE(
        world_.memory->PatchMetadata(kube::kNodes, {"", name}, {{"labels", labels}}, {}).ok());
  }
  void AddJob(int workers, int steps) {
    world_.CreateJob(
        "job", {{"workers", {{"count", workers}}},
                {"trainer", {{"train", {{"steps", steps}}}}},
                {"template",
                 {{"spec",
                   {{"containers",
                     {{{"name", "worker"}, {"resources", {{"requests", {{"cpu", "160"}}}}}}}}}}}}});
  }
  // Runs the job to its end, and returns its cost. Adds up how long each node had a worker.
  CostStatus Finish() {
    const bool ended = world_.RunUntil(
        [&] {
          for (const Json& pod : world_.Pods()) {
            const Json& spec = pod["spec"];
            const std::string phase = pod.value("/status/phase"_json_pointer, "Pending");
            if (!spec.contains("nodeName") || phase == "Succeeded" || phase == "Failed") continue;
            seconds_[spec["nodeName"]] += absl::ToDoubleSeconds(ReplicaWorld::kTick);
          }
          return world_.Succeeded("job");
        },
        absl::Minutes(20));
    EXPECT_TRUE(ended) << world_.Job("job").status.DebugString();
    return world_.Job("job").status.cost();
  }
  double Hours(const std::string& node) { return seconds_[node] / kSecondsPerHour; }

  ReplicaWorld world_{{.seed = 1, .replicas = 2, .prices = Table()}};
  std::map<std::string, double> seconds_;
};

TEST_F(CostTest, EachWorkerTakesItsShareOfItsNodesPrice) {
  AddNode("on-demand", {{"node.kubernetes.io/instance-type", "big"}});
  AddNode("spot",
          {{"node.kubernetes.io/instance-type", "big"}, {"karpenter.sh/capacity-type", "spot"}});
  AddNode("own", {{"muster.dev/price-per-hour", "40"}});
  AddNode("unpriced", {{"muster.dev/price-per-hour", "much"}});
  AddJob(/*workers=*/4, /*steps=*/600);
  const CostStatus cost = Finish();
  ASSERT_EQ(seconds_.size(), 4u);
  const double spent = 90 * Hours("on-demand") + 22.5 * Hours("spot") + 10 * Hours("own");
  EXPECT_EQ(cost.currency(), "EUR");
  EXPECT_NEAR(cost.spent(), spent, 0.02 * spent);
  EXPECT_NEAR(cost.saved_by_spot(), 67.5 * Hours("spot"), 0.02 * cost.saved_by_spot());
  EXPECT_NEAR(cost.energy_kwh(), 1.8 * (Hours("on-demand") + Hours("spot")),
              0.02 * cost.energy_kwh());
  EXPECT_EQ(cost.lost(), 0);
  EXPECT_NEAR(cost.priced_seconds(), 0.75 * cost.worker_seconds(), 0.02 * cost.worker_seconds());
  EXPECT_NEAR(cost.metered_seconds(), 0.5 * cost.worker_seconds(), 0.02 * cost.worker_seconds());
}

TEST_F(CostTest, ItGoesOnUnderANewLeaderAndSaysWhatAFailureTook) {
  AddNode("a", {{"node.kubernetes.io/instance-type", "big"}});
  AddNode("b", {{"node.kubernetes.io/instance-type", "big"}});
  AddJob(/*workers=*/2, /*steps=*/1200);
  for (int i = 0; i < 3; ++i) {
    const double before = world_.Job("job").status.cost().spent();
    world_.RunUntil([&] { return world_.Job("job").status.cost().spent() > before + 0.2; },
                    absl::Minutes(5));
    if (ReplicaWorld::Host* leader = world_.Leader()) world_.Kill(*leader);
    if (i == 1) world_.fleet->KillAgent(world_.Job("job").uid, 0);
  }
  seconds_.clear();
  const double before = world_.Job("job").status.cost().spent();
  ASSERT_GT(before, 0.6);
  const CostStatus cost = Finish();
  const v1alpha1::LedgerStatus& ledger = world_.Job("job").status.ledger();
  const double since = 90 * (Hours("a") + Hours("b"));
  EXPECT_NEAR(cost.spent() - before, since, 0.05 * cost.spent());
  EXPECT_GT(cost.lost(), 0);
  EXPECT_LE(cost.lost(), 1.05 * 90 * (ledger.recovering() + ledger.rework()) / kSecondsPerHour);
  EXPECT_NEAR(cost.priced_seconds(), cost.worker_seconds(), 1);
}

}  // namespace
}  // namespace muster::control
