#include "operator/kube/memory/memory_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

std::string TableName(const ResourceType& type) {
  return absl::StrCat(std::string(type.plural), ".", std::string(type.group));
}

}  // namespace

MemoryStore::MemoryStore(const std::vector<Resource>& resources, size_t history_limit)
    : history_limit_(std::max<size_t>(history_limit, 1)) {
  for (const Resource& resource : resources) {
    StoreTable& table = tables_[TableName(resource.type)];
    table.resource = resource;
    table.floor = version_;
  }
}

void MemoryStore::SetVersion(uint64_t version) {
  version_ = std::max(version_, version);
  ForgetHistory();
}

void MemoryStore::ForgetHistory() {
  for (auto& [name, table] : tables_) {
    table.history.clear();
    table.floor = version_;
    table.changed.NotifyAll();
  }
}

StoreTable* MemoryStore::Table(const ResourceType& type) {
  const auto it = tables_.find(TableName(type));
  return it == tables_.end() ? nullptr : &it->second;
}

StoreTable* MemoryStore::TableOfKind(const std::string& api_version, const std::string& kind) {
  for (auto& [name, table] : tables_) {
    const ResourceType& type = table.resource.type;
    if (type.kind == kind && type.ApiVersion() == api_version) return &table;
  }
  return nullptr;
}

SharedJson MemoryStore::Get(const StoreTable& table, const ObjectKey& key) const {
  const auto it = table.objects.find(key);
  return it == table.objects.end() ? nullptr : it->second;
}

void MemoryStore::Put(StoreTable& table, uint64_t version, SharedJson object) {
  const ObjectKey key = KeyOf(*object);
  SharedJson& slot = table.objects[key];
  SharedJson before = slot;
  if (before != nullptr) Unindex(table, *before);
  slot = object;
  Index(table, *object);
  version_ = version;
  Remember(table, {version, key, std::move(before), std::move(object), false});
}

void MemoryStore::Erase(StoreTable& table, uint64_t version, SharedJson last_state) {
  const ObjectKey key = KeyOf(*last_state);
  const auto it = table.objects.find(key);
  if (it == table.objects.end()) return;
  SharedJson before = it->second;
  Unindex(table, *before);
  table.objects.erase(it);
  version_ = version;
  Remember(table, {version, key, std::move(before), std::move(last_state), true});
}

void MemoryStore::Remember(StoreTable& table, StoredEvent event) {
  table.history.push_back(std::move(event));
  table.changed.NotifyAll();
  while (table.history.size() > history_limit_) {
    table.floor = table.history.front().version;
    table.history.pop_front();
  }
}

absl::StatusOr<std::map<ObjectKey, SharedJson>> MemoryStore::At(const StoreTable& table,
                                                                uint64_t version) const {
  if (version < table.floor) {
    return ApiError(Reason::kExpired,
                    "The provided continue parameter is too old to display a "
                    "consistent list result: list again from the start");
  }
  std::map<ObjectKey, SharedJson> objects = table.objects;
  for (auto event = table.history.rbegin();
       event != table.history.rend() && event->version > version; ++event) {
    if (event->before == nullptr) {
      objects.erase(event->key);
    } else {
      objects[event->key] = event->before;
    }
  }
  return objects;
}

void MemoryStore::Index(StoreTable& table, const Json& object) {
  const Location location{&table, KeyOf(object)};
  uids_[UidOf(object)] = location;
  for (const OwnerReference& owner : OwnersOf(object)) dependents_[owner.uid].insert(location);
}

void MemoryStore::Unindex(StoreTable& table, const Json& object) {
  const Location location{&table, KeyOf(object)};
  uids_.erase(UidOf(object));
  for (const OwnerReference& owner : OwnersOf(object)) {
    const auto it = dependents_.find(owner.uid);
    if (it == dependents_.end()) continue;
    it->second.erase(location);
    if (it->second.empty()) dependents_.erase(it);
  }
}

std::vector<MemoryStore::Location> MemoryStore::DependentsOf(const std::string& uid) const {
  const auto it = dependents_.find(uid);
  if (it == dependents_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

std::optional<MemoryStore::Location> MemoryStore::LocationOf(const std::string& uid) const {
  const auto it = uids_.find(uid);
  if (it == uids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace muster::kube
