#include "operator/kube/memory/garbage_collector.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "operator/kube/api.h"

namespace muster::kube {

void GarbageCollector::Changed(const SharedJson& before, const SharedJson& after) {
  if (before != nullptr) {
    for (const OwnerReference& owner : OwnersOf(*before)) marked_.insert(owner.uid);
  }
  if (after != nullptr) marked_.insert(UidOf(*after));
  const std::string uid = UidOf(after != nullptr ? *after : *before);
  // Dependents are examined when their owner is deleted or starts to be.
  if (after != nullptr && !IsTerminating(*after)) return;
  for (const auto& [table, key] : store_.DependentsOf(uid)) {
    marked_.insert(UidOf(*store_.Get(*table, key)));
  }
}

void GarbageCollector::MarkAll() {
  for (const auto& [name, table] : store_.tables()) {
    for (const auto& [key, object] : table.objects) marked_.insert(UidOf(*object));
  }
}

absl::Status GarbageCollector::Settle() {
  while (!marked_.empty()) {
    const std::string uid = *marked_.begin();
    marked_.erase(marked_.begin());
    const absl::Status examined = Examine(uid);
    if (examined.ok()) continue;
    marked_.insert(uid);
    return examined;
  }
  return absl::OkStatus();
}

absl::Status GarbageCollector::Examine(const std::string& uid) {
  const std::optional<MemoryStore::Location> location = store_.LocationOf(uid);
  if (!location.has_value()) return absl::OkStatus();
  StoreTable& table = *location->first;
  const SharedJson object = store_.Get(table, location->second);
  if (!IsTerminating(*object)) return CollectDependent(table, *object);
  if (HasFinalizer(*object, kOrphanFinalizer)) return Orphan(table, *object);
  if (HasFinalizer(*object, kForegroundFinalizer)) return FinishForeground(table, *object);
  return absl::OkStatus();
}

absl::Status GarbageCollector::Orphan(StoreTable& table, const Json& owner) {
  for (const auto& [dependents, key] : store_.DependentsOf(UidOf(owner))) {
    const SharedJson dependent = store_.Get(*dependents, key);
    MUSTER_RETURN_IF_ERROR(DropOwners(*dependents, *dependent, {UidOf(owner)}));
  }
  return DropFinalizer(table, owner, kOrphanFinalizer);
}

absl::Status GarbageCollector::FinishForeground(StoreTable& table, const Json& owner) {
  const std::string uid = UidOf(owner);
  for (const auto& [dependents, key] : store_.DependentsOf(uid)) {
    const SharedJson dependent = store_.Get(*dependents, key);
    for (const OwnerReference& reference : OwnersOf(*dependent)) {
      if (reference.uid == uid && reference.block_owner_deletion) return absl::OkStatus();
    }
  }
  return DropFinalizer(table, owner, kForegroundFinalizer);
}

GarbageCollector::OwnerState GarbageCollector::StateOf(const OwnerReference& owner,
                                                       const std::string& name_space) {
  StoreTable* table = store_.TableOfKind(owner.api_version, owner.kind);
  if (table == nullptr) return OwnerState::kSolid;  // a type that is not stored here
  const ObjectKey key{table->resource.type.namespaced ? name_space : "", owner.name};
  const SharedJson found = store_.Get(*table, key);
  if (found == nullptr || UidOf(*found) != owner.uid) return OwnerState::kDangling;
  const bool waiting = IsTerminating(*found) && HasFinalizer(*found, kForegroundFinalizer);
  return waiting ? OwnerState::kWaiting : OwnerState::kSolid;
}

absl::Status GarbageCollector::CollectDependent(StoreTable& table, const Json& object) {
  const std::vector<OwnerReference> owners = OwnersOf(object);
  std::set<std::string> going;
  bool solid = false;
  bool waiting = false;
  for (const OwnerReference& owner : owners) {
    const OwnerState state = StateOf(owner, NamespaceOf(object));
    solid = solid || state == OwnerState::kSolid;
    waiting = waiting || state == OwnerState::kWaiting;
    if (state != OwnerState::kSolid) going.insert(owner.uid);
  }
  if (going.empty()) return absl::OkStatus();
  if (solid) return DropOwners(table, object, going);
  DeleteOptions options;
  options.preconditions.uid = UidOf(object);
  if (waiting && !store_.DependentsOf(UidOf(object)).empty()) {
    options.propagation = Propagation::kForeground;
  }
  return deleter_.Delete(table, KeyOf(object), options);
}

absl::Status GarbageCollector::DropOwners(StoreTable& table, const Json& object,
                                          const std::set<std::string>& uids) {
  std::vector<OwnerReference> kept;
  for (OwnerReference& owner : OwnersOf(object)) {
    if (uids.count(owner.uid) == 0) kept.push_back(std::move(owner));
  }
  Json updated = object;
  SetOwners(updated, kept);
  return deleter_.StoreUpdate(table, std::move(updated)).status();
}

absl::Status GarbageCollector::DropFinalizer(StoreTable& table, const Json& object,
                                             const char* finalizer) {
  std::vector<std::string> kept;
  for (std::string& name : FinalizersOf(object)) {
    if (name != finalizer) kept.push_back(std::move(name));
  }
  Json updated = object;
  SetFinalizers(updated, kept);
  return deleter_.StoreUpdate(table, std::move(updated)).status();
}

}  // namespace muster::kube
