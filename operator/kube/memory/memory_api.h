#ifndef MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_API_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_API_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "operator/kube/memory/deleter.h"
#include "operator/kube/memory/garbage_collector.h"
#include "operator/kube/memory/memory_store.h"
#include "operator/kube/memory/object_rules.h"
#include "operator/kube/memory/store_writer.h"
#include "operator/kube/memory/wal.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {

struct MemoryApiOptions {
  // The types that the server serves. A call for another type is kNotFound, as on a server without
  // its CRD.
  std::vector<Resource> resources = BuiltinResources();
  // Source of uids and generated names. Must be thread-safe or used by this server alone.
  std::function<uint64_t()> random;
  // Events kept per type. A watch or page that needs older ones fails with Expired.
  size_t history_limit = 8192;
  absl::Duration bookmark_interval = absl::Minutes(1);
  // If empty, nothing is persisted.
  std::string directory;
  WalOptions wal;
};

// The embedded API server: Kubernetes' semantics over a map, for `muster run` and for tests.
// Garbage collection runs inside the write that makes it possible, so the state is settled when a
// call returns. With a directory, a write is on file before it is visible, and a process killed at
// any moment restarts from its last write, with the same uids and growing versions.
//
//   MUSTER_ASSIGN_OR_RETURN(auto api, MemoryApi::Open(Clock::Real(), {.random = rng}));
//   api->Create(kPods, pod);
//
// Thread-safe. `clock` must outlive the MemoryApi, which must outlive its watchers.
class MemoryApi final : public Api {
 public:
  // Returns kUnavailable if another process holds the directory, kDataLoss if its snapshot is
  // damaged.
  static absl::StatusOr<std::unique_ptr<MemoryApi>> Open(const Clock& clock,
                                                         MemoryApiOptions options);
  // Returns a read-only view of a directory, which another process may be writing. Writes fail with
  // kPermissionDenied.
  static absl::StatusOr<std::unique_ptr<MemoryApi>> OpenReadOnly(const Clock& clock,
                                                                 MemoryApiOptions options);
  ~MemoryApi() override;

  absl::StatusOr<Json> Get(const ResourceType& type, const ObjectKey& key,
                           const CallOptions& call = {}) override;
  absl::StatusOr<ObjectList> List(const ResourceType& type, const ListOptions& options,
                                  const CallOptions& call = {}) override;
  absl::StatusOr<std::unique_ptr<Watcher>> Watch(const ResourceType& type,
                                                 const WatchOptions& options,
                                                 const CallOptions& call = {}) override;
  absl::StatusOr<Json> Create(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) override;
  absl::StatusOr<Json> CreateSubresource(const ResourceType& type, const ObjectKey& key,
                                         const std::string& subresource, const Json& object,
                                         const CallOptions& call = {}) override;
  absl::StatusOr<Json> Update(const ResourceType& type, const Json& object,
                              const CallOptions& call = {}) override;
  absl::StatusOr<Json> UpdateStatus(const ResourceType& type, const Json& object,
                                    const CallOptions& call = {}) override;
  absl::StatusOr<Json> Patch(const ResourceType& type, const ObjectKey& key, const Json& patch,
                             const Preconditions& preconditions = {},
                             const CallOptions& call = {}) override;
  absl::Status Delete(const ResourceType& type, const ObjectKey& key,
                      const DeleteOptions& options = {}, const CallOptions& call = {}) override;
  absl::Status Bind(const Binding& binding, const CallOptions& call = {}) override;

  // Replaces an object by a new one of its name, with a uid of its own and the status that `object`
  // holds. It is one write: whatever fails, one of the two is there. Watchers see a deletion and a
  // creation, whatever finalizers the old object has, and its dependents are collected. kAborted if
  // the stored object does not meet `preconditions`. A real API server has no such call.
  absl::StatusOr<Json> Recreate(const ResourceType& type, const Json& object,
                                const Preconditions& preconditions) MUSTER_EXCLUDES(mu_);
  // Forgets all history, as etcd's compaction does: open watches and pages expire.
  void CompactHistory();
  // Writes a snapshot now and empties the log. No-op without a directory.
  absl::Status Checkpoint();
  // Returns how many bytes of a torn tail Open dropped from the log.
  int64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  friend class MemoryWatcher;
  MemoryApi(const Clock& clock, MemoryApiOptions options);

  // Replays the directory and takes its lock when `writable`.
  absl::Status Load(bool writable) MUSTER_EXCLUDES(mu_);
  absl::StatusOr<StoreTable*> TableFor(const ResourceType& type, const CallOptions& call)
      MUSTER_REQUIRES(mu_);
  // Like TableFor, but fails on a read-only server.
  absl::StatusOr<StoreTable*> WritableTable(const ResourceType& type, const CallOptions& call)
      MUSTER_REQUIRES(mu_);
  // Runs `write` under the lock and returns the stored object, reduced to the fields that the call
  // asks for; the copy is made after the lock is released.
  absl::StatusOr<Json> Answer(const ResourceType& type, const CallOptions& call,
                              absl::FunctionRef<absl::StatusOr<SharedJson>(StoreTable&)> write)
      MUSTER_EXCLUDES(mu_);
  absl::StatusOr<SharedJson> Existing(StoreTable& table, const ObjectKey& key) MUSTER_REQUIRES(mu_);
  absl::StatusOr<SharedJson> Add(StoreTable& table, Json fresh) MUSTER_REQUIRES(mu_);
  absl::StatusOr<SharedJson> Replace(StoreTable& table, Json object, Operation operation)
      MUSTER_REQUIRES(mu_);
  absl::StatusOr<SharedJson> Patched(StoreTable& table, const ObjectKey& key, const Json& patch,
                                     const Preconditions& preconditions) MUSTER_REQUIRES(mu_);
  absl::StatusOr<Json> BoundPod(const Json& pod, const Binding& binding) const;
  // Ends a write: collects garbage.
  void Settle() MUSTER_REQUIRES(mu_);
  std::string NewUid() MUSTER_REQUIRES(mu_);
  std::string NameSuffix() MUSTER_REQUIRES(mu_);

  const Clock& clock_;
  const MemoryApiOptions options_;
  int64_t dropped_bytes_ = 0;
  bool read_only_ = false;

  Mutex mu_;
  MemoryStore store_ MUSTER_GUARDED_BY(mu_);
  std::unique_ptr<StoreWriter> writer_ MUSTER_GUARDED_BY(mu_);
  std::unique_ptr<Deleter> deleter_ MUSTER_GUARDED_BY(mu_);
  std::unique_ptr<GarbageCollector> garbage_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_API_H_
