#ifndef MUSTER_OPERATOR_OBJECTS_POD_SHARING_H_
#define MUSTER_OPERATOR_OBJECTS_POD_SHARING_H_

#include <cstddef>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "operator/core/view.h"
#include "operator/objects/object_records.h"
#include "operator/placement/cluster/scheduling_pod.h"

namespace muster::control {

// Keeps pods that are not ours small, for a cluster has many: all that matters of one is what it
// takes from which node and whom it keeps away, and nothing of one that has ended. Those that take
// the same are one record, without key and names; those of one template share what placement reads
// of it wherever they are. Ours are kept as they are. Not thread-safe.
class PodSharing {
 public:
  std::shared_ptr<const PodRecord> Keep(PodRecord pod);
  // Shared records known, some of which may be gone.
  size_t size() const { return records_.size(); }
  size_t footprints() const { return footprints_.size(); }

 private:
  template <typename Value>
  struct Known {
    // By a hash. Of two that have one hash, the later is not shared.
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
