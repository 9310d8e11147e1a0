#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_RESOURCE_AMOUNTS_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_RESOURCE_AMOUNTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::control {

// Amounts that a scheduler counts, by kube-scheduler's names and rounding: CPU in thousandths of a
// core, memory and ephemeral storage in bytes, and by name every extended resource (GPUs, MIG
// slices, shared GPUs, RDMA devices, ...), huge pages and attachable volumes. Arithmetic saturates.
struct ResourceAmounts {
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  int64_t ephemeral_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> scalars;  // by name, each once

  int64_t scalar(std::string_view name) const;  // 0: none
  void SetScalar(std::string_view name, int64_t amount);
  void Add(const ResourceAmounts& other);
  void Subtract(const ResourceAmounts& other);

  friend bool operator==(const ResourceAmounts&, const ResourceAmounts&) = default;
};

// Returns true if kube-scheduler counts it beside CPU, memory and ephemeral storage.
bool IsScalarResource(std::string_view name);

// Returns true for a whole GPU, a slice of one or a share in one, of any vendor.
bool IsGpuResource(std::string_view name);

// Returns true for a device that sends between machines by RDMA, by the words that device plugins
// name them with: rdma/hca_shared_devices_a, nvidia.com/rdma-vf, nvidia.com/infiniband.
bool IsRdmaResource(std::string_view name);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_RESOURCE_AMOUNTS_H_
