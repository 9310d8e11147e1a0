#include "operator/kube/memory/store_writer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/store_log.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {

absl::Status StoreWriter::Compact() {
  if (wal_ == nullptr) return absl::OkStatus();
  return wal_->Compact([this](const Wal::Emit& emit) { return WriteSnapshotOf(store_, emit); });
}

absl::Status StoreWriter::Log(absl::FunctionRef<std::string()> record) {
  if (wal_ == nullptr) return absl::OkStatus();
  if (wal_->WantsCompaction()) {
    // A failed compaction matters only if the log cannot be appended to, either.
    const absl::Status compacted = Compact();
    if (!compacted.ok() && wal_->broken()) {
      return ApiError(Reason::kServiceUnavailable,
                      absl::StrCat("cannot write the state: ", compacted.message()));
    }
  }
  const absl::Status appended = wal_->Append(record());
  if (appended.ok()) return appended;
  return ApiError(Reason::kServiceUnavailable,
                  absl::StrCat("cannot write the state: ", appended.message()));
}

absl::StatusOr<SharedJson> StoreWriter::Put(StoreTable& table, Json object) {
  const uint64_t version = store_.version() + 1;
  SetResourceVersion(object, absl::StrCat(version));
  MUSTER_RETURN_IF_ERROR(Log([&] { return EncodePut(table.resource.type, version, object); }));
  const SharedJson before = store_.Get(table, KeyOf(object));
  SharedJson after = std::make_shared<const Json>(std::move(object));
  store_.Put(table, version, after);
  if (listener_) listener_(before, after);
  return after;
}

absl::Status StoreWriter::Erase(StoreTable& table, Json last_state) {
  const uint64_t version = store_.version() + 1;
  SetResourceVersion(last_state, absl::StrCat(version));
  MUSTER_RETURN_IF_ERROR(
      Log([&] { return EncodeErase(table.resource.type, version, KeyOf(last_state)); }));
  const SharedJson before = store_.Get(table, KeyOf(last_state));
  store_.Erase(table, version, std::make_shared<const Json>(std::move(last_state)));
  if (listener_) listener_(before, nullptr);
  return absl::OkStatus();
}

}  // namespace muster::kube
