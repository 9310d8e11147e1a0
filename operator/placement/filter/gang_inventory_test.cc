#include "operator/placement/filter/gang_inventory.h"

#include <cstdint>
#include <variant>

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"
#include "operator/placement/placement.h"

namespace muster::control {
namespace {

constexpr char kWorker[] =
    "{'containers':[{'name':'c','resources':{'requests':{'nvidia.com/gpu':'4','cpu':'1'}}}]}";

TEST(GangInventoryTest, CountsCopiesAsSlots) {
  FilterWorld world;
  world.AddNode("b");
  world.AddNode("a", "{}", "{'unschedulable':true}");
  world.Bind(PodOf("there", kWorker), "b");
  const SchedulingPod pod = PodOf("p", kWorker);
  RefusalSummary summary;
  const Inventory inventory = GangInventory(pod, world.snapshot, {}, &summary);
  ASSERT_EQ(inventory.nodes.size(), 2u);
  EXPECT_EQ(inventory.nodes[0].name, "a");
  EXPECT_FALSE(inventory.nodes[0].schedulable);
  EXPECT_TRUE(inventory.nodes[1].schedulable);
  EXPECT_EQ(inventory.nodes[1].free, (Resources{4, 7000, int64_t{32} << 30, 1}));
  EXPECT_EQ(inventory.nodes[1].allocatable, (Resources{8, 8000, int64_t{32} << 30, 2}));
  EXPECT_EQ(GangShare(pod), (Resources{4, 1000, 0, 1}));
  EXPECT_EQ(summary.Text(), "of 1 node 1 are cordoned");
}

// Whatever the tree does not sum up is in the slots: here a resource it does not know.
TEST(GangInventoryTest, PlaceHeedsResourcesOfAnyName) {
  FilterWorld world;
  world.AddNode("a");
  const SchedulingPod pod =
      PodOf("p", "{'containers':[{'name':'c','resources':{'requests':{'rdma/hca':'1'}}}]}");
  GangRequest request;
  request.per_worker = GangShare(pod);
  const auto answer = Place(GangInventory(pod, world.snapshot), request);
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(answer));
}

TEST(GangInventoryTest, SharedAndSlicedGpusAreTheGpusOfWhoAsksForThem) {
  FilterWorld world;
  world.AddNode("a");
  const SchedulingPod pod = PodOf(
      "p", "{'containers':[{'name':'c','resources':{'requests':{'nvidia.com/mig-1g.10gb':'2'}}}]}");
  EXPECT_EQ(GangShare(pod).gpus, 2);
  EXPECT_EQ(GangInventory(pod, world.snapshot).nodes[0].free.gpus, 0);
}

}  // namespace
}  // namespace muster::control
