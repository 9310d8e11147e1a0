// Objects that no API server would store are read or refused without a crash, and can be queried
// like any others.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/cluster/storage.h"
#include "operator/placement/cluster/tree_amounts.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/refusal.h"
#include "tests/differential/random_cluster.h"

namespace muster::control {
namespace {

Json RandomMalformedValue(Dice& dice) {
  switch (dice.Below(9)) {
    case 0:
      return nullptr;
    case 1:
      return -1;
    case 2:
      return INT64_MIN;
    case 3:
      return UINT64_MAX;
    case 4:
      return 1e300;
    case 5:
      return "-9e99";
    case 6:
      return Json::array({1, Json::object(), "x"});
    case 7:
      return Json::object({{"", ""}});
    default:
      return std::string(300, 'a');
  }
}

// Replaces or drops a few of the values below.
void Corrupt(Json& json, Dice& dice) {
  if (!json.is_structured()) return;
  std::vector<std::string> dropped;
  for (auto it = json.begin(); it != json.end(); ++it) {
    if (dice.Chance(3)) {
      *it = RandomMalformedValue(dice);
    } else if (json.is_object() && dice.Chance(3)) {
      dropped.push_back(it.key());
    } else {
      Corrupt(*it, dice);
    }
  }
  for (const std::string& key : dropped) json.erase(key);
}

template <typename Parse, typename Take>
void ReadAll(const Json& list, Parse parse, Take take) {
  for (const Json& json : list) {
    auto read = parse(json);
    if (read.ok()) take(*std::move(read));
  }
}

ClusterSnapshot Read(const Json& objects) {
  ClusterSnapshot snapshot;
  ReadAll(objects.at("nodes"), ParseSchedulingNode, [&](SchedulingNode node) {
    snapshot.SetNode(std::make_shared<SchedulingNode>(std::move(node)));
  });
  ReadAll(objects.at("pods"), ParseSchedulingPod, [&](SchedulingPod pod) {
    snapshot.AddPod(std::make_shared<SchedulingPod>(std::move(pod)));
  });
  ReadAll(objects.at("claims"), ParseVolumeClaim,
          [&](VolumeClaim claim) { snapshot.SetClaim(std::move(claim)); });
  ReadAll(objects.at("volumes"), ParseVolume,
          [&](Volume volume) { snapshot.SetVolume(std::move(volume)); });
  ReadAll(objects.at("classes"), ParseStorageClass,
          [&](StorageClass one) { snapshot.SetStorageClass(std::move(one)); });
  ReadAll(objects.at("csiNodes"), ParseAttachLimits,
          [&](AttachLimits limits) { snapshot.SetAttachLimits(std::move(limits)); });
  ReadAll(objects.at("attachments"), ParseVolumeAttachment,
          [&](VolumeAttachment one) { snapshot.SetAttachment(std::move(one)); });
  ReadAll(objects.at("drivers"), ParseStorageDriver,
          [&](StorageDriver driver) { snapshot.SetDriver(std::move(driver)); });
  ReadAll(objects.at("capacities"), ParseStorageCapacity,
          [&](StorageCapacity one) { snapshot.SetCapacity(std::move(one)); });
  return snapshot;
}

TEST(MalformedObjectsTest, NeverBreakTheFilters) {
  int refused = 0;
  int fits = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Json objects = RandomCluster(seed).objects();
    Dice dice(seed);
    for (auto& [name, list] : objects.items()) {
      if (!list.is_array()) continue;
      for (Json& object : list) Corrupt(object, dice);
    }
    const ClusterSnapshot snapshot = Read(objects);
    ReadAll(objects.at("waiting"), ParseSchedulingPod, [&](const SchedulingPod& pod) {
      const NodeFilter filter(pod, snapshot);
      snapshot.ForEachNode([&](const NodeState& node) {
        const auto refusal = filter.Check(node);
        ++(refusal ? refused : fits);
        const Resources free = TreeAmounts(node.free, node.free_pods());
        EXPECT_GE(std::min({free.gpus, free.cpu_millis, free.memory_bytes, free.slots}), 0);
        EXPECT_EQ(refusal.has_value(), filter.Copies(node) == 0);
        if (refusal) {
          EXPECT_FALSE(Sentence(*refusal).empty());
        }
      });
    });
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(fits, 100);
}

}  // namespace
}  // namespace muster::control
