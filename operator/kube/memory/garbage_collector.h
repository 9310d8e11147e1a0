#ifndef MUSTER_OPERATOR_KUBE_MEMORY_GARBAGE_COLLECTOR_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_GARBAGE_COLLECTOR_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "operator/kube/memory/deleter.h"
#include "operator/kube/memory/memory_store.h"
#include "operator/kube/memory/store_writer.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {

// kube-controller-manager's garbage collector: deletes what has lost its last owner (by uid), waits
// for blocking dependents in foreground deletion, lets go of dependents in orphaning deletion.
// Level-triggered: Settle works off every object whose surroundings changed. Not thread-safe.
class GarbageCollector {
 public:
  GarbageCollector(MemoryStore& store, Deleter& deleter) : store_(store), deleter_(deleter) {}

  // A StoreWriter::Listener.
  void Changed(const SharedJson& before, const SharedJson& after);
  // Looks at everything again (after a replay).
  void MarkAll();
  // Until nothing is left to do. What could not be written stays marked for the next time.
  absl::Status Settle();

 private:
  enum class OwnerState { kSolid, kDangling, kWaiting };

  absl::Status Examine(const std::string& uid);
  absl::Status Orphan(StoreTable& table, const Json& owner);
  absl::Status FinishForeground(StoreTable& table, const Json& owner);
  absl::Status CollectDependent(StoreTable& table, const Json& object);
  OwnerState StateOf(const OwnerReference& owner, const std::string& name_space);
  absl::Status DropOwners(StoreTable& table, const Json& object, const std::set<std::string>& uids);
  absl::Status DropFinalizer(StoreTable& table, const Json& object, const char* finalizer);

  MemoryStore& store_;
  Deleter& deleter_;
  std::set<std::string> marked_;  // uids
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_GARBAGE_COLLECTOR_H_
