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

// Garbage collection as in kube-controller-manager: deletes objects that have lost their last owner
// (by uid), waits for blocking dependents in foreground deletion, and removes the owner references
// of dependents in orphaning deletion. Level-triggered: Settle examines every object whose owners
// or dependents changed. Not thread-safe.
class GarbageCollector {
 public:
  GarbageCollector(MemoryStore& store, Deleter& deleter) : store_(store), deleter_(deleter) {}

  // Implements StoreWriter::Listener.
  void Changed(const SharedJson& before, const SharedJson& after);
  // Marks every object for examination (after a replay).
  void MarkAll();
  // Works until no marked object is left. An object that could not be written stays marked for the
  // next call.
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
