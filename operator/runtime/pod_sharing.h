#ifndef MUSTER_OPERATOR_RUNTIME_POD_SHARING_H_
#define MUSTER_OPERATOR_RUNTIME_POD_SHARING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "operator/runtime/object_records.h"

namespace muster::control {

// Keeps pods that are not ours small, for a cluster has many: all that matters of one is what it
// takes from which node, and those that take the same are one record, without key and names. Ours
// are kept as they are. Not thread-safe.
class PodSharing {
 public:
  std::shared_ptr<const PodRecord> Keep(PodRecord pod);
  // Shared records known, some of which may be gone.
  size_t size() const { return shared_.size(); }

 private:
  // Node, phase, requests.
  using Taken = std::tuple<std::string, PodPhase, int64_t, int64_t, int64_t, int64_t>;

  void Sweep();

  std::map<Taken, std::weak_ptr<const PodRecord>> shared_;
  size_t sweep_at_ = 1024;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_POD_SHARING_H_
