#ifndef MUSTER_OPERATOR_PLACEMENT_INVENTORY_H_
#define MUSTER_OPERATOR_PLACEMENT_INVENTORY_H_

#include <cstdint>
#include <string>
#include <vector>

// What placement knows about a cluster: plain values, no behaviour.
namespace muster::control {

// What a worker asks of a node, and what a node has: every component is >= 0. A difference of two,
// which `TopologyTree::Charge` takes, may be negative.
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
  // What is left, after every pod on the node, whoever made it, terminating ones included.
  Resources free;
  bool schedulable = true;
  // The node's place in the topology, outermost level first, e.g. {"dc1", "spine3", "leaf7"}; the
  // levels' names are Inventory::levels. May be shorter, and may have empty names: the node is then
  // nowhere at those levels.
  std::vector<std::string> domains;
  // What there is when nothing runs, for the score; what is free if less than that.
  Resources allocatable;
  // What its GPUs are, as "NVIDIA-H100-80GB-HBM3"; empty: nobody says. Nodes of one name are alike.
  std::string gpu_product;
};

struct Inventory {
  std::vector<std::string> levels;  // outermost first, e.g. {"datacenter", "spine", "leaf"}
  std::vector<NodeInventory> nodes;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_INVENTORY_H_
