#include "operator/kube/memory/store_log.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::kube {
namespace {

constexpr int kFormat = 1;

std::string TypeName(const ResourceType& type) {
  return absl::StrCat(std::string(type.plural), ".", std::string(type.group));
}

absl::Status Unreadable(const char* what) {
  return absl::DataLossError(absl::StrCat("not a record of this server: ", what));
}

bool IsUnsigned(const Json& record, const char* field) {
  const Json* value = Find(record, {field});
  return value != nullptr && value->is_number_unsigned();
}

StoreTable* TableNamed(MemoryStore& store, const std::string& name) {
  const auto it = store.tables().find(name);
  return it == store.tables().end() ? nullptr : &it->second;
}

bool IsStorable(const Json& object) {
  return object.is_object() && !NameOf(object).empty() && !UidOf(object).empty();
}

}  // namespace

std::string EncodePut(const ResourceType& type, uint64_t version, const Json& object) {
  // Built as text, since putting the object inside another one would copy it.
  return absl::StrCat(R"({"o":)", DumpJson(object), R"(,"t":)", DumpJson(TypeName(type)),
                      R"(,"v":)", version, "}");
}

std::string EncodeErase(const ResourceType& type, uint64_t version, const ObjectKey& key) {
  return DumpJson(
      {{"v", version}, {"t", TypeName(type)}, {"d", Json::array({key.name_space, key.name})}});
}

absl::Status WriteSnapshotOf(const MemoryStore& store, const Wal::Emit& emit) {
  int64_t count = 0;
  for (const auto& [name, table] : store.tables()) count += table.objects.size();
  MUSTER_RETURN_IF_ERROR(
      emit(DumpJson({{"format", kFormat}, {"v", store.version()}, {"n", count}})));
  for (const auto& [name, table] : store.tables()) {
    for (const auto& [key, object] : table.objects) {
      MUSTER_RETURN_IF_ERROR(emit(EncodePut(table.resource.type, store.version(), *object)));
    }
  }
  return absl::OkStatus();
}

absl::Status StoreLoader::Replay(std::string_view bytes, bool from_snapshot) {
  absl::StatusOr<Json> record = ParseJson(bytes);
  if (!record.ok()) return Unreadable("not JSON");
  if (!IsUnsigned(*record, "v")) return Unreadable("no version");
  const uint64_t version = (*record)["v"].get<uint64_t>();
  if (!record->contains("format")) return Apply(*record, version, from_snapshot);
  if (!from_snapshot || has_header_) return Unreadable("a snapshot's header in the wrong place");
  if ((*record)["format"] != kFormat) {
    return absl::FailedPreconditionError("the state was written by a newer version of muster");
  }
  if (!IsUnsigned(*record, "n")) return Unreadable("no count");
  has_header_ = true;
  expected_ = static_cast<int64_t>((*record)["n"].get<uint64_t>());
  snapshot_version_ = log_version_ = version;
  return absl::OkStatus();
}

absl::Status StoreLoader::Apply(const Json& record, uint64_t version, bool from_snapshot) {
  if (from_snapshot && !has_header_) return Unreadable("a snapshot without a header");
  if (!from_snapshot && version <= log_version_) return absl::OkStatus();
  StoreTable* table = TableNamed(store_, StringAt(record, {"t"}));
  if (table == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the state holds a type not served here: ", StringAt(record, {"t"})));
  }
  if (const Json* object = Find(record, {"o"})) {
    if (!IsStorable(*object)) return Unreadable("an object without a name or uid");
    store_.Put(*table, version, std::make_shared<const Json>(*object));
    if (from_snapshot) ++loaded_;
  } else {
    const Json* gone = Find(record, {"d"});
    if (gone == nullptr || !gone->is_array() || gone->size() != 2 || !(*gone)[0].is_string() ||
        !(*gone)[1].is_string()) {
      return Unreadable("neither an object nor a deletion");
    }
    const ObjectKey key{(*gone)[0].get<std::string>(), (*gone)[1].get<std::string>()};
    if (SharedJson last = store_.Get(*table, key)) store_.Erase(*table, version, std::move(last));
  }
  if (!from_snapshot) log_version_ = version;
  return absl::OkStatus();
}

absl::Status StoreLoader::Finish() {
  if (loaded_ != expected_) {
    return absl::DataLossError(
        absl::StrCat("the snapshot holds ", loaded_, " objects of ", expected_));
  }
  store_.SetVersion(std::max(snapshot_version_, log_version_));
  return absl::OkStatus();
}

}  // namespace muster::kube
