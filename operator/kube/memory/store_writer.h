#ifndef MUSTER_OPERATOR_KUBE_MEMORY_STORE_WRITER_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_STORE_WRITER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/memory/memory_store.h"
#include "operator/kube/memory/wal.h"

namespace muster::kube {

// The only writer of a MemoryStore. Gives each change its version, writes it to the log, then
// applies it. A change that cannot be logged is not applied. Not thread-safe.
class StoreWriter {
 public:
  // Called after each change; `after` is null for a deletion, `before` for a creation.
  using Listener = std::function<void(const SharedJson& before, const SharedJson& after)>;

  StoreWriter(MemoryStore& store, std::unique_ptr<Wal> wal) : store_(store), wal_(std::move(wal)) {}

  void SetListener(Listener listener) { listener_ = std::move(listener); }
  // Fails with ServiceUnavailable if the change could not be logged.
  absl::StatusOr<SharedJson> Put(StoreTable& table, Json object);
  absl::Status Erase(StoreTable& table, Json last_state);
  // Puts `object` in the place of the stored one of its name, which counts as erased. Both changes
  // are one record of the log.
  absl::StatusOr<SharedJson> Replace(StoreTable& table, Json object);
  absl::Status Compact();

 private:
  absl::Status Log(std::string_view verb, const ResourceType& type,
                   absl::FunctionRef<std::string()> record);

  MemoryStore& store_;
  const std::unique_ptr<Wal> wal_;  // null: nothing is persisted
  Listener listener_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_STORE_WRITER_H_
