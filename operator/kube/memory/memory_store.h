#ifndef MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_STORE_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/memory/object_rules.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {

// Stored objects never change, so readers share them (hence shared_ptr) and copy outside locks.
using SharedJson = std::shared_ptr<const Json>;

// One change in a type's history.
struct StoredEvent {
  uint64_t version = 0;
  ObjectKey key;
  SharedJson before;  // null: created
  SharedJson after;   // for a deletion, the last state at `version`
  bool deleted = false;
};

struct StoreTable {
  Resource resource;
  std::map<ObjectKey, SharedJson> objects;
  std::deque<StoredEvent> history;  // by version
  uint64_t floor = 0;               // events up to this version are forgotten
  CondVar changed;                  // notified of every event, and of a new floor
};

// The state of an API server: objects by type, one growing version over all types, a window of
// history per type, and the owners of each object. Not thread-safe.
class MemoryStore {
 public:
  MemoryStore(const std::vector<Resource>& resources, size_t history_limit);

  uint64_t version() const { return version_; }
  // Raises the version without an event, and forgets all history up to it.
  void SetVersion(uint64_t version);

  // Returns null if the type is not served.
  StoreTable* Table(const ResourceType& type);
  StoreTable* TableOfKind(const std::string& api_version, const std::string& kind);
  std::map<std::string, StoreTable>& tables() { return tables_; }
  const std::map<std::string, StoreTable>& tables() const { return tables_; }

  SharedJson Get(const StoreTable& table, const ObjectKey& key) const;
  // `object` carries its new resourceVersion, which must be above version().
  void Put(StoreTable& table, uint64_t version, SharedJson object);
  void Erase(StoreTable& table, uint64_t version, SharedJson last_state);

  // Returns the objects that existed at `version`. Expired if history does not reach back that far.
  absl::StatusOr<std::map<ObjectKey, SharedJson>> At(const StoreTable& table,
                                                     uint64_t version) const;
  void ForgetHistory();

  // Table and key of an object. DependentsOf returns every object that names `uid` as an owner.
  using Location = std::pair<StoreTable*, ObjectKey>;
  std::vector<Location> DependentsOf(const std::string& uid) const;
  std::optional<Location> LocationOf(const std::string& uid) const;

 private:
  void Remember(StoreTable& table, StoredEvent event);
  void Index(StoreTable& table, const Json& object);
  void Unindex(StoreTable& table, const Json& object);

  size_t history_limit_;
  uint64_t version_ =
      1000;  // well above the versions that mean "any", and old enough to be Expired
  std::map<std::string, StoreTable> tables_;  // by "plural.group"; addresses are stable
  std::map<std::string, Location> uids_;
  std::map<std::string, std::set<Location>> dependents_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_STORE_H_
