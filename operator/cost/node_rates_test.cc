#include "operator/cost/node_rates.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

ResourceAmounts Amounts(int64_t cpu_millis, int64_t gpus) {
  ResourceAmounts amounts;
  amounts.cpu_millis = cpu_millis;
  if (gpus > 0) amounts.SetScalar(kGpu, gpus);
  return amounts;
}

SchedulingNode Node(const LabelMap& labels, int64_t gpus = 8) {
  SchedulingNode node;
  node.name = "node-a";
  node.labels = labels;
  node.allocatable = Amounts(100'000, gpus);
  return node;
}

PriceTable Table() {
  PriceTable table;
  table.currency = "USD";
  table.rows["big"] = {.per_hour = 80, .spot_per_hour = 32, .watts = 8000};
  table.rows["unsold"] = {.per_hour = 10};
  return table;
}

TEST(ShareTest, IsThatOfTheGpusWhereThePodHasAny) {
  EXPECT_DOUBLE_EQ(ShareOf(Amounts(90'000, 2), Node({})), 0.25);
  EXPECT_DOUBLE_EQ(ShareOf(Amounts(1'000, 8), Node({})), 1);
  EXPECT_DOUBLE_EQ(ShareOf(Amounts(25'000, 0), Node({})), 0.25);
  EXPECT_DOUBLE_EQ(ShareOf(Amounts(50'000, 0), Node({}, 0)), 0.5);
  EXPECT_EQ(ShareOf(Amounts(0, 0), Node({})), 0);
}

TEST(ShareTest, IsTheLargestOverKindsOfGpus) {
  ResourceAmounts requests = Amounts(1'000, 1);
  requests.SetScalar("nvidia.com/mig-1g.10gb", 3);
  SchedulingNode node = Node({});
  node.allocatable.SetScalar("nvidia.com/mig-1g.10gb", 4);
  EXPECT_DOUBLE_EQ(ShareOf(requests, node), 0.75);
}

TEST(ShareTest, OfANodeThatHasLessIsTheWhole) {
  EXPECT_EQ(ShareOf(Amounts(1'000, 8), Node({}, 4)), 1);
  EXPECT_EQ(ShareOf(Amounts(1'000, 8), Node({}, 0)), 1);
}

TEST(NodeRatesTest, AreThoseOfTheRowOfItsInstanceType) {
  const auto rates = RatesOnNode(Amounts(0, 2), Node({{kInstanceTypeLabel, "big"}}), Table(), {});
  EXPECT_EQ(rates, (WorkerRates{.per_hour = 20, .watts = 2000}));
  EXPECT_EQ(RatesOnNode(Amounts(0, 2), Node({{kInstanceTypeLabel, "none"}}), Table(), {}),
            WorkerRates());
  EXPECT_EQ(RatesOnNode(Amounts(0, 2), Node({}), Table(), {}), WorkerRates());
}

TEST(NodeRatesTest, ASpotNodeHasItsOwnPriceAndTheOneItSaves) {
  const LabelMap labels = {{kInstanceTypeLabel, "big"}, {"karpenter.sh/capacity-type", "spot"}};
  EXPECT_EQ(RatesOnNode(Amounts(0, 2), Node(labels), Table(), {}),
            (WorkerRates{.per_hour = 8, .on_demand_per_hour = 20, .watts = 2000}));
}

TEST(NodeRatesTest, ASpotNodeWithoutASpotPriceHasNoneRatherThanAWrongOne) {
  const LabelMap labels = {{kInstanceTypeLabel, "unsold"}, {"karpenter.sh/capacity-type", "spot"}};
  EXPECT_EQ(RatesOnNode(Amounts(0, 8), Node(labels), Table(), {}),
            (WorkerRates{.on_demand_per_hour = 10}));
}

TEST(NodeRatesTest, TheNodesOwnLabelGoesBeforeTheTable) {
  const LabelMap own = {{kInstanceTypeLabel, "big"}, {kPriceLabel, "12.5"}};
  EXPECT_EQ(RatesOnNode(Amounts(0, 4), Node(own), Table(), {}).per_hour, 6.25);
  const LabelMap spot = {
      {kInstanceTypeLabel, "big"}, {kPriceLabel, "12.5"}, {"cloud.google.com/gke-spot", "true"}};
  EXPECT_EQ(RatesOnNode(Amounts(0, 4), Node(spot), Table(), {}),
            (WorkerRates{.per_hour = 6.25, .on_demand_per_hour = 40, .watts = 4000}));
  EXPECT_EQ(RatesOnNode(Amounts(0, 4), Node({{kPriceLabel, "12.5"}}), {}, {}),
            (WorkerRates{.per_hour = 6.25}));
}

TEST(NodeRatesTest, ABadLabelIsNamedAndTheTableCounts) {
  for (const char* bad : {"cheap", "-1", "nan", "inf", "1e10"}) {
    const SchedulingNode node = Node({{kInstanceTypeLabel, "big"}, {kPriceLabel, bad}});
    EXPECT_EQ(RatesOnNode(Amounts(0, 8), node, Table(), {}).per_hour, 80) << bad;
    EXPECT_EQ(PriceLabelFault(node), "the label muster.dev/price-per-hour is '" + std::string(bad) +
                                         "': want a number from 0 to 1e9, as 12.29");
  }
  EXPECT_EQ(PriceLabelFault(Node({{kPriceLabel, "0"}})), "");
  EXPECT_EQ(PriceLabelFault(Node({})), "");
}

TEST(NodeRatesTest, MeasuredPowerGoesToPodsWithGpusAlone) {
  const SchedulingNode node = Node({{kInstanceTypeLabel, "big"}});
  EXPECT_EQ(RatesOnNode(Amounts(0, 2), node, Table(), 4000).watts, 1000);
  EXPECT_EQ(RatesOnNode(Amounts(50'000, 0), node, Table(), 4000).watts, 4000);
  EXPECT_EQ(RatesOnNode(Amounts(50'000, 0), Node({}), Table(), 4000).watts, std::nullopt);
}

}  // namespace
}  // namespace muster::control
