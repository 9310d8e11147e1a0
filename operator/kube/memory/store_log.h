#ifndef MUSTER_OPERATOR_KUBE_MEMORY_STORE_LOG_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_STORE_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/json.h"
#include "operator/kube/memory/memory_store.h"
#include "operator/kube/memory/wal.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

// Encodes a MemoryStore's changes for a Wal, one JSON document per record.
//   {"v": version, "t": "pods.", "o": object}             stored
//   {"v": version, "t": "pods.", "d": [namespace, name]}  gone
//   {"format": 1, "v": version, "n": objects}             a snapshot's first record
namespace muster::kube {

std::string EncodePut(const ResourceType& type, uint64_t version, const Json& object);
std::string EncodeErase(const ResourceType& type, uint64_t version, const ObjectKey& key);
absl::Status WriteSnapshotOf(const MemoryStore& store, const Wal::Emit& emit);

// Rebuilds a store from records. Records at or below the version reached are skipped, so replaying
// a log that a snapshot already contains changes nothing. Safe on any bytes.
class StoreLoader {
 public:
  explicit StoreLoader(MemoryStore& store) : store_(store) {}

  // Returns kDataLoss for a malformed record, and kFailedPrecondition for a newer format or a type
  // that is not served here.
  absl::Status Replay(std::string_view record, bool from_snapshot);
  // Called after the last record. Checks that the snapshot was complete and forgets the history of
  // the replay.
  absl::Status Finish();

 private:
  absl::Status Apply(const Json& record, uint64_t version, bool from_snapshot);

  MemoryStore& store_;
  bool has_header_ = false;
  uint64_t snapshot_version_ = 0;
  uint64_t log_version_ = 0;
  int64_t expected_ = 0;
  int64_t loaded_ = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_STORE_LOG_H_
