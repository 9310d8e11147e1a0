#ifndef MUSTER_OPERATOR_KUBE_CACHE_CACHE_H_
#define MUSTER_OPERATOR_KUBE_CACHE_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/cache/cache_index.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {

// The objects of one type as a reflector last saw them, parsed into T. An object that Get returns
// never changes and stays valid while it is held (hence shared_ptr: the cache may replace it at any
// time). An object that Parse rejects is absent here and is counted.
//
//   Cache<PodView> pods(ParsePodView, {.indexed_labels = {"muster.dev/job"}});
//   pods.OnChange([&](const ObjectKey& key, auto& before, auto& after) { queue.Add(...); });
//   Reflector reflector(api, kPods, {}, pods, clock);
//
// Thread-safe. Handlers must be added before the first event; they run on the reflector's thread
// without the lock, so they may call back. Level-triggered: several changes may arrive as one.
template <typename T>
class Cache final : public ReflectorSink {
 public:
  using Object = std::shared_ptr<const T>;
  using Parse = std::function<absl::StatusOr<T>(Json)>;
  // `before` is null for a new object, `after` for a deleted one. A handler uses both only to find
  // the keys to look at (an owner, a label); it must not act on the change itself.
  using Handler =
      std::function<void(const ObjectKey& key, const Object& before, const Object& after)>;
  struct Options {
    std::vector<std::string> indexed_labels;
    // Called for every object that Parse rejects.
    std::function<void(const ObjectKey&, const absl::Status&)> on_parse_error;
    // Makes the object that the cache keeps, so that equal objects can be shared. If empty, each
    // object is kept on its own. Called on the reflector's thread.
    std::function<Object(T)> keep;
    // ListByOwner finds objects by their controllers of this kind; if empty, of any kind.
    std::string indexed_owner_kind;
  };

  explicit Cache(Parse parse, Options options = {})
      : parse_(std::move(parse)), options_(std::move(options)) {}

  void OnChange(Handler handler) { handlers_.push_back(std::move(handler)); }

  // Returns null if the object is absent.
  Object Get(const ObjectKey& key) const {
    MutexLock lock(mu_);
    return Find(key);
  }
  std::vector<Object> List() const {
    MutexLock lock(mu_);
    std::vector<Object> all;
    all.reserve(objects_.size());
    for (const auto& [key, object] : objects_) all.push_back(object);
    return all;
  }
  std::vector<Object> ListNamespace(const std::string& name_space) const {
    MutexLock lock(mu_);
    std::vector<Object> all;
    for (auto it = objects_.lower_bound({name_space, ""});
         it != objects_.end() && it->first.name_space == name_space; ++it) {
      all.push_back(it->second);
    }
    return all;
  }
  // Returns what names this controller, in every namespace: a caller checks that it is its own.
  std::vector<Object> ListByOwner(const std::string& owner_uid) const {
    MutexLock lock(mu_);
    return Pick(index_.ByOwner(owner_uid));
  }
  // `label` must be one of Options::indexed_labels.
  std::vector<Object> ListByLabel(const std::string& label, const std::string& value) const {
    MutexLock lock(mu_);
    return Pick(index_.ByLabel(label, value));
  }
  size_t size() const {
    MutexLock lock(mu_);
    return objects_.size();
  }

  // Returns true after the first complete list.
  bool HasSynced() const { return progress_.HasSynced(); }
  // Returns the version up to which every change has been applied.
  uint64_t LatestVersion() const { return progress_.Latest(); }
  // Waits until the cache has seen `version` (read-your-writes). Returns false if `timeout` ran out
  // first.
  bool WaitForVersion(uint64_t version, absl::Duration timeout) const {
    return progress_.WaitFor(version, timeout);
  }
  int64_t parse_errors() const {
    MutexLock lock(mu_);
    return parse_errors_;
  }

  void BeginList() override { listed_.clear(); }
  void Listed(Json object) override;
  void EndList(uint64_t version) override;
  void Upsert(Json object, uint64_t version) override;
  void Remove(const ObjectKey& key, uint64_t version) override;
  void Advance(uint64_t version) override { progress_.Advance(version); }

 private:
  struct Parsed {
    Object object;  // null if Parse rejected it
    std::vector<IndexTerm> terms;
  };
  struct Change {
    ObjectKey key;
    Object before;
    Object after;
  };

  Object Find(const ObjectKey& key) const MUSTER_REQUIRES(mu_) {
    auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second;
  }
  std::vector<Object> Pick(const std::vector<ObjectKey>& keys) const MUSTER_REQUIRES(mu_) {
    std::vector<Object> picked;
    picked.reserve(keys.size());
    for (const ObjectKey& key : keys) {
      if (Object object = Find(key)) picked.push_back(std::move(object));
    }
    return picked;
  }
  // Counts and reports an object that Parse rejects.
  Parsed ParseObject(const ObjectKey& key, Json json);
  Change Put(const ObjectKey& key, Parsed parsed) MUSTER_REQUIRES(mu_);
  Change Erase(const ObjectKey& key) MUSTER_REQUIRES(mu_);
  void NotifyHandlers(const std::vector<Change>& changes) const;

  // Constant after the first event.
  const Parse parse_;
  const Options options_;
  std::vector<Handler> handlers_;

  // The list in progress; used by the reflector's thread only.
  absl::btree_map<ObjectKey, Parsed> listed_;

  mutable Mutex mu_;
  absl::btree_map<ObjectKey, Object> objects_ MUSTER_GUARDED_BY(mu_);
  CacheIndex index_ MUSTER_GUARDED_BY(mu_);
  int64_t parse_errors_ MUSTER_GUARDED_BY(mu_) = 0;
  VersionProgress progress_;
};

template <typename T>
typename Cache<T>::Parsed Cache<T>::ParseObject(const ObjectKey& key, Json json) {
  std::vector<IndexTerm> terms =
      IndexTerms(json, options_.indexed_labels, options_.indexed_owner_kind);
  absl::StatusOr<T> parsed = parse_(std::move(json));
  if (parsed.ok()) {
    Object object = options_.keep ? options_.keep(*std::move(parsed))
                                  : std::make_shared<const T>(*std::move(parsed));
    return {std::move(object), std::move(terms)};
  }
  {
    MutexLock lock(mu_);
    ++parse_errors_;
  }
  if (options_.on_parse_error) options_.on_parse_error(key, parsed.status());
  return {};
}

template <typename T>
typename Cache<T>::Change Cache<T>::Put(const ObjectKey& key, Parsed parsed) {
  if (parsed.object == nullptr) return Erase(key);
  Change change{key, Find(key), parsed.object};
  objects_[key] = std::move(parsed.object);
  index_.Put(key, std::move(parsed.terms));
  return change;
}

template <typename T>
typename Cache<T>::Change Cache<T>::Erase(const ObjectKey& key) {
  Change change{key, Find(key), nullptr};
  objects_.erase(key);
  index_.Erase(key);
  return change;
}

template <typename T>
void Cache<T>::NotifyHandlers(const std::vector<Change>& changes) const {
  for (const Change& change : changes) {
    if (change.before == nullptr && change.after == nullptr) continue;
    for (const Handler& handler : handlers_) handler(change.key, change.before, change.after);
  }
}

template <typename T>
void Cache<T>::Listed(Json json) {
  const ObjectKey key = KeyOf(json);
  listed_[key] = ParseObject(key, std::move(json));
}

template <typename T>
void Cache<T>::EndList(uint64_t version) {
  absl::btree_map<ObjectKey, Parsed> fresh;
  fresh.swap(listed_);
  std::vector<Change> changes;
  {
    MutexLock lock(mu_);
    std::vector<ObjectKey> vanished;
    for (const auto& [key, object] : objects_) {
      if (fresh.find(key) == fresh.end()) vanished.push_back(key);
    }
    for (const ObjectKey& key : vanished) changes.push_back(Erase(key));
    for (auto& [key, parsed] : fresh) changes.push_back(Put(key, std::move(parsed)));
  }
  // The version is published before the handlers run: a handler may read at that version.
  progress_.Synced(version);
  NotifyHandlers(changes);
}

template <typename T>
void Cache<T>::Upsert(Json json, uint64_t version) {
  const ObjectKey key = KeyOf(json);
  Parsed parsed = ParseObject(key, std::move(json));
  std::vector<Change> changes;
  {
    MutexLock lock(mu_);
    changes.push_back(Put(key, std::move(parsed)));
  }
  progress_.Advance(version);
  NotifyHandlers(changes);
}

template <typename T>
void Cache<T>::Remove(const ObjectKey& key, uint64_t version) {
  std::vector<Change> changes;
  {
    MutexLock lock(mu_);
    changes.push_back(Erase(key));
  }
  progress_.Advance(version);
  NotifyHandlers(changes);
}

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CACHE_CACHE_H_
