#ifndef MUSTER_OPERATOR_OBJECTS_POD_SHARING_H_
#define MUSTER_OPERATOR_OBJECTS_POD_SHARING_H_

#include <cstddef>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "operator/core/state/view.h"
#include "operator/objects/object_records.h"
#include "operator/placement/cluster/scheduling_pod.h"

namespace muster::control {

// Shares equal parts of pods that are not muster's, to save memory. A live pod is reduced to its
// phase, its node, its resources and the rules by which it keeps other pods away; an ended pod to
// its phase. Pods that agree in these are one record, without key and names. Pods of one template
// share the part that placement reads, whatever their node. Muster's own pods are kept whole. Not
// thread-safe.
class PodSharing {
 public:
  std::shared_ptr<const PodRecord> Keep(PodRecord pod);
  // Returns the number of shared records; some of them may be out of use.
  size_t size() const { return records_.size(); }

 private:
  template <typename Value>
  struct Known {
    // Keyed by hash. If two different values have the same hash, only the later one is shared.
    absl::flat_hash_map<size_t, std::weak_ptr<const Value>> by_hash;
    size_t sweep_at = 1024;

    size_t size() const { return by_hash.size(); }
  };
  template <typename Value, typename Same>
  static std::shared_ptr<const Value> Share(Known<Value>& known, size_t hash, Value value,
                                            Same same);

  Known<PodRecord> records_;
  Known<SchedulingPod> footprints_;
  Known<PodView> views_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_POD_SHARING_H_
