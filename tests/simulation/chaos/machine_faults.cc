// Faults of machines: lost, cut off, tainted, drained, announced to be taken back.
#include <string>

#include "absl/strings/str_cat.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/chaos/faults.h"

namespace muster::control {
namespace {

using Node = ChaosWorld::Node;

void Return(ChaosWorld& chaos, const std::string& name) {
  for (Node& node : chaos.nodes) {
    if (node.name == name) node.there = true;
  }
}

// The machine is gone for ever, as is its node soon: the cloud and the pod garbage collector clean
// up. Another machine comes in its place.
bool NodeGone(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode();
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  const bool spot = node->spot;
  const int cpus = node->cpus;
  chaos.world.fleet->LoseNode(name);
  chaos.Later(chaos.Seconds(2, 20), [&chaos, name] { chaos.SetReady(name, "Unknown"); });
  chaos.Later(chaos.Seconds(20, 40), [&chaos, name, spot, cpus] {
    chaos.world.memory->Delete(kube::kNodes, {"", name}, {}).IgnoreError();
    chaos.EvictPods(name, /*force=*/true);
    chaos.AddNode(spot, cpus);
  });
  return true;
}

// The machine starts again and has lost all that ran on it.
bool NodeRestarts(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode();
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  chaos.world.fleet->LoseNode(name);
  const bool noticed = chaos.OneIn(2);
  if (noticed) chaos.SetReady(name, "Unknown");
  chaos.Later(chaos.Seconds(3, 30), [&chaos, name] {
    chaos.world.fleet->ReturnNode(name);
    chaos.SetReady(name, "True");
    Return(chaos, name);
  });
  return true;
}

bool NodeNotReady(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode();
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  chaos.SetReady(name, chaos.OneIn(2) ? "False" : "Unknown");
  chaos.Later(chaos.Seconds(1, 30), [&chaos, name] {
    chaos.SetReady(name, "True");
    Return(chaos, name);
  });
  return true;
}

// Everything on the node lives on without the operator, and comes back with what it knew.
bool NodeCutOff(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode();
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  const absl::Duration length = chaos.Seconds(3, 40);
  chaos.world.fleet->CutNode(name, length);
  const bool evicted = chaos.OneIn(3);
  chaos.Later(length / 2, [&chaos, name, evicted] {
    chaos.SetReady(name, "Unknown");
    if (evicted) chaos.EvictPods(name, /*force=*/false);
  });
  chaos.Later(length, [&chaos, name] {
    chaos.SetReady(name, "True");
    Return(chaos, name);
  });
  return true;
}

bool NodeTainted(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode();
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  const char* keys[] = {"karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler",
                        "aws-node-termination-handler/spot-itn"};
  const char* key = keys[chaos.Number(0, 2)];
  chaos.EditNode(name, [&](Json& object) {
    object["spec"]["taints"] = {{{"key", key}, {"effect", "NoSchedule"}}};
  });
  chaos.Later(chaos.Seconds(5, 60), [&chaos, name] {
    chaos.EditNode(name, [](Json& object) { object["spec"].erase("taints"); });
    Return(chaos, name);
  });
  return true;
}

bool NodeDrained(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode();
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  chaos.EditNode(name, [](Json& object) { object["spec"]["unschedulable"] = true; });
  chaos.Later(absl::Seconds(1), [&chaos, name] { chaos.EvictPods(name, /*force=*/false); });
  chaos.Later(chaos.Seconds(10, 40), [&chaos, name] {
    chaos.EditNode(name, [](Json& object) { object["spec"].erase("unschedulable"); });
    Return(chaos, name);
  });
  return true;
}

// Takes the machine back at its time, and gives another later.
void TakeBack(ChaosWorld& chaos, const std::string& name, absl::Duration after) {
  chaos.Later(after, [&chaos, name] {
    chaos.world.fleet->LoseNode(name);
    chaos.world.memory->Delete(kube::kNodes, {"", name}, {}).IgnoreError();
    chaos.EvictPods(name, /*force=*/true);
  });
  chaos.Later(after + chaos.Seconds(1, 20), [&chaos] { chaos.AddNode(true, chaos.Number(1, 3)); });
}

bool NoticeComesTrue(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode(/*spot_only=*/true);
  if (node == nullptr) return false;
  node->there = false;
  const absl::Duration left = chaos.Seconds(10, 60);
  chaos.world.SetNotice(node->name, left);
  TakeBack(chaos, node->name, left);
  return true;
}

bool NoticeNeverComesTrue(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode(/*spot_only=*/true);
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  chaos.world.SetNotice(name, chaos.Seconds(5, 60));
  chaos.Later(chaos.Seconds(2, 80), [&chaos, name] {
    chaos.world.SetNotice(name, std::nullopt);
    Return(chaos, name);
  });
  return true;
}

bool NoticeTwice(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode(/*spot_only=*/true);
  if (node == nullptr) return false;
  node->there = false;
  const std::string name = node->name;
  chaos.world.SetNotice(name, absl::Seconds(30));
  chaos.Later(chaos.Seconds(2, 12), [&chaos, name] { chaos.world.SetNotice(name, std::nullopt); });
  const absl::Duration left = chaos.Seconds(10, 60);
  chaos.Later(absl::Seconds(15), [&chaos, name, left] { chaos.world.SetNotice(name, left); });
  TakeBack(chaos, name, absl::Seconds(15) + left);
  return true;
}

bool NoticeLate(ChaosWorld& chaos) {
  Node* node = chaos.AnyNode(/*spot_only=*/true);
  if (node == nullptr) return false;
  node->there = false;
  chaos.world.SetNotice(node->name, -chaos.Seconds(1, 30));
  TakeBack(chaos, node->name, absl::Seconds(1));
  return true;
}

bool NoticeForAll(ChaosWorld& chaos) {
  const absl::Duration left = chaos.Seconds(5, 40);
  std::vector<std::string> names;
  for (Node& node : chaos.nodes) {
    if (!node.spot || !node.there) continue;
    node.there = false;
    names.push_back(node.name);
  }
  for (const std::string& name : names) {
    chaos.world.SetNotice(name, left);
    TakeBack(chaos, name, left);
  }
  return !names.empty();
}

bool NoticeAcrossLeaders(ChaosWorld& chaos) {
  ReplicaWorld::Host* leader = chaos.world.Leader();
  if (leader == nullptr || !NoticeComesTrue(chaos)) return false;
  const int number = leader->number;
  chaos.Later(chaos.Seconds(0, 8), [&chaos, number] {
    ReplicaWorld::Host& host = chaos.world.hosts[number];
    if (host.alive) chaos.world.Kill(host, absl::Seconds(10));
  });
  return true;
}

bool SpotNodesTakenWithoutNotice(ChaosWorld& chaos) {
  std::vector<std::string> names;
  for (Node& node : chaos.nodes) {
    if (!node.spot || !node.there || chaos.OneIn(3)) continue;
    node.there = false;
    names.push_back(node.name);
  }
  for (const std::string& name : names) TakeBack(chaos, name, absl::ZeroDuration());
  return !names.empty();
}

}  // namespace

const std::vector<FaultKind>& MachineFaults() {
  static const auto* faults = new std::vector<FaultKind>{
      {"node gone", NodeGone},
      {"node restarted", NodeRestarts},
      {"node not ready", NodeNotReady},
      {"node cut off", NodeCutOff},
      {"node tainted", NodeTainted},
      {"node drained", NodeDrained},
      {"notice that comes true", NoticeComesTrue},
      {"notice that never comes true", NoticeNeverComesTrue},
      {"notice twice", NoticeTwice},
      {"notice too late", NoticeLate},
      {"notice for all spot nodes", NoticeForAll},
      {"notice across leaders", NoticeAcrossLeaders},
      {"spot nodes taken without notice", SpotNodesTakenWithoutNotice},
  };
  return *faults;
}

}  // namespace muster::control
