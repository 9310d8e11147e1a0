#ifndef MUSTER_OPERATOR_RUNTIME_POD_SHARING_H_
#define MUSTER_OPERATOR_RUNTIME_POD_SHARING_H_

#include <cstddef>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "operator/runtime/object_records.h"

namespace muster::control {

// Keeps pods that are not ours small, for a cluster has many: all that matters of one is what it
// takes from which node, and nothing of one that has ended. Those that take the same are one
// record, without key and names. Ours are kept as they are. Not thread-safe.
class PodSharing {
 public:
  std::shared_ptr<const PodRecord> Keep(PodRecord pod);
  // Shared records known, some of which may be gone.
  size_t size() const { return shared_.size(); }

 private:
  void Sweep();

  // By a hash of node, phase and requests. Of two that have one hash, the later is not shared.
  absl::flat_hash_map<size_t, std::weak_ptr<const PodRecord>> shared_;
  size_t sweep_at_ = 1024;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_POD_SHARING_H_
