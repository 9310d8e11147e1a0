#ifndef MUSTER_OPERATOR_KUBE_MEMORY_DELETER_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_DELETER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/kube/memory/memory_store.h"
#include "operator/kube/memory/store_writer.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {

inline constexpr char kOrphanFinalizer[] = "orphan";
inline constexpr char kForegroundFinalizer[] = "foregroundDeletion";

bool HasFinalizer(const Json& object, const char* finalizer);
absl::Status CheckPreconditions(const ResourceType& type, const Json& object,
                                const Preconditions& preconditions);

// Deletes objects as the API server does: finalizers and a bound pod's grace period keep the
// object, with a deletionTimestamp, until they are over. Not thread-safe.
class Deleter {
 public:
  Deleter(MemoryStore& store, StoreWriter& writer, const Clock& clock)
      : store_(store), writer_(writer), clock_(clock) {}

  absl::Status Delete(StoreTable& table, const ObjectKey& key, const DeleteOptions& options);
  // Stores an updated object, or removes it if the update dropped its last finalizer during a
  // deletion. Does not write an unchanged object.
  absl::StatusOr<SharedJson> StoreUpdate(StoreTable& table, Json updated);

 private:
  absl::Status DeletePod(StoreTable& table, Json pod, const DeleteOptions& options);
  absl::Status KeepOrErase(StoreTable& table, Json object, int64_t grace);

  MemoryStore& store_;
  StoreWriter& writer_;
  const Clock& clock_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_DELETER_H_
