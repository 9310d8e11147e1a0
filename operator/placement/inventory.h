#ifndef MUSTER_OPERATOR_PLACEMENT_INVENTORY_H_
#define MUSTER_OPERATOR_PLACEMENT_INVENTORY_H_

#include <cstdint>
#include <string>
#include <vector>

// The cluster as placement sees it: plain values, no behaviour.
namespace muster::control {

// Amounts that a worker needs of a node, or that a node has: every component is >= 0. A difference
// of two, as `TopologyTree::Charge` takes it, may be negative.
struct Resources {
  int64_t gpus = 0;
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  int64_t slots = 0;  // pods

  friend bool operator==(const Resources&, const Resources&) = default;
  friend Resources operator*(const Resources& r, int64_t times) {
    return {r.gpus * times, r.cpu_millis * times, r.memory_bytes * times, r.slots * times};
  }
  friend Resources operator+(const Resources& a, const Resources& b) {
    return {a.gpus + b.gpus, a.cpu_millis + b.cpu_millis, a.memory_bytes + b.memory_bytes,
            a.slots + b.slots};
  }
  friend Resources operator-(const Resources& r) { return r * -1; }
  friend Resources operator-(const Resources& a, const Resources& b) { return a + -b; }
  friend Resources& operator+=(Resources& a, const Resources& b) { return a = a + b; }
  friend Resources& operator-=(Resources& a, const Resources& b) { return a = a - b; }
};

struct NodeInventory {
  std::string name;
  // The amounts that all pods on the node leave free, including terminating pods and those of other
  // schedulers.
  Resources free;
  bool schedulable = true;
  // The node's place in the topology, outermost level first, e.g. {"dc1", "spine3", "leaf7"}; the
  // levels' names are Inventory::levels. May be shorter, and may have empty names: the node is then
  // in no domain of those levels.
  std::vector<std::string> domains;
  // The amounts when nothing runs, for the score; raised to `free` if that is more.
  Resources allocatable;
  // The model of its GPUs, e.g. "NVIDIA-H100-80GB-HBM3"; empty: unknown. Nodes of one model count
  // as alike.
  std::string gpu_product;
  // True if its cloud may take it back at short notice.
  bool spot = false;
  // The machines that a cloud takes back together; only with `spot`.
  std::string spot_pool;
};

struct Inventory {
  std::vector<std::string> levels;  // outermost first, e.g. {"datacenter", "spine", "leaf"}
  std::vector<NodeInventory> nodes;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_INVENTORY_H_
