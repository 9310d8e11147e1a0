#include "operator/kube/memory/store_writer.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/store_log.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {

absl::Status StoreWriter::Compact() {
  if (wal_ == nullptr) return absl::OkStatus();
  return wal_->Compact([this](const Wal::Emit& emit) { return WriteSnapshotOf(store_, emit); });
}

absl::Status StoreWriter::Log(std::string_view verb, const ResourceType& type,
                              absl::FunctionRef<std::string()> record) {
  if (wal_ == nullptr) return absl::OkStatus();
  if (wal_->WantsCompaction()) {
    // A failed compaction matters only if the log cannot be appended to, either.
    const absl::Status compacted = Compact();
    if (!compacted.ok() && wal_->broken()) {
      return ApiError(Reason::kServiceUnavailable,
                      absl::StrCat("cannot write the state: ", compacted.message()));
    }
  }
  MUSTER_FAILPOINT_OF("operator.before_write", std::string(verb) + "_" + std::string(type.plural));
  const absl::Status appended = wal_->Append(record());
  MUSTER_FAILPOINT_OF("operator.after_write", std::string(verb) + "_" + std::string(type.plural));
  if (appended.ok()) return appended;
  return ApiError(Reason::kServiceUnavailable,
                  absl::StrCat("cannot write the state: ", appended.message()));
}

absl::StatusOr<SharedJson> StoreWriter::Put(StoreTable& table, Json object) {
  const uint64_t version = store_.version() + 1;
  SetResourceVersion(object, absl::StrCat(version));
  const SharedJson before = store_.Get(table, KeyOf(object));
  const ResourceType& type = table.resource.type;
  MUSTER_RETURN_IF_ERROR(Log(before == nullptr ? "create" : "update", type,
                             [&] { return EncodePut(type, version, object); }));
  SharedJson after = std::make_shared<const Json>(std::move(object));
  store_.Put(table, version, after);
  if (listener_) listener_(before, after);
  return after;
}

absl::Status StoreWriter::Erase(StoreTable& table, Json last_state) {
  const uint64_t version = store_.version() + 1;
  SetResourceVersion(last_state, absl::StrCat(version));
  const ResourceType& type = table.resource.type;
  MUSTER_RETURN_IF_ERROR(
      Log("erase", type, [&] { return EncodeErase(type, version, KeyOf(last_state)); }));
  const SharedJson before = store_.Get(table, KeyOf(last_state));
  store_.Erase(table, version, std::make_shared<const Json>(std::move(last_state)));
  if (listener_) listener_(before, nullptr);
  return absl::OkStatus();
}

absl::StatusOr<SharedJson> StoreWriter::Replace(StoreTable& table, Json object) {
  const uint64_t version = store_.version() + 2;
  SetResourceVersion(object, absl::StrCat(version));
  const ResourceType& type = table.resource.type;
  MUSTER_RETURN_IF_ERROR(Log("update", type, [&] { return EncodePut(type, version, object); }));
  const SharedJson before = store_.Get(table, KeyOf(object));
  Json last_state = *before;
  SetResourceVersion(last_state, absl::StrCat(version - 1));
  store_.Erase(table, version - 1, std::make_shared<const Json>(std::move(last_state)));
  if (listener_) listener_(before, nullptr);
  SharedJson after = std::make_shared<const Json>(std::move(object));
  store_.Put(table, version, after);
  if (listener_) listener_(nullptr, after);
  return after;
}

}  // namespace muster::kube
