#ifndef MUSTER_OPERATOR_KUBE_CACHE_CACHE_INDEX_H_
#define MUSTER_OPERATOR_KUBE_CACHE_CACHE_INDEX_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {

// A (label, value) pair, or ("", the controller's UID), since no label has an empty name.
using IndexTerm = std::pair<std::string, std::string>;

// Returns the terms by which an object is indexed: its controller's UID, if the controller's kind
// is `owner_kind` (empty: any kind), and those of its labels that are in `labels`. Indexing every
// label and owner of 50,000 pods would take more memory than the pods. The UID is not verified:
// anyone who may create objects in a namespace can write any UID into their ownerReferences.
std::vector<IndexTerm> IndexTerms(const Json& object, const std::vector<std::string>& labels,
                                  const std::string& owner_kind);

// Maps an owner's UID or a label's value to the keys of the objects that have it. Not thread-safe.
class CacheIndex {
 public:
  void Put(const ObjectKey& key, std::vector<IndexTerm> terms);
  void Erase(const ObjectKey& key);
  // Return keys in ascending order.
  std::vector<ObjectKey> ByOwner(const std::string& uid) const;
  std::vector<ObjectKey> ByLabel(const std::string& label, const std::string& value) const;

 private:
  std::vector<ObjectKey> Keys(const IndexTerm& term) const;

  std::map<IndexTerm, std::set<ObjectKey>> keys_;
  std::map<ObjectKey, std::vector<IndexTerm>> terms_;  // only objects with terms
};

// The resourceVersion that a cache has reached. Thread-safe.
class VersionProgress {
 public:
  void Synced(uint64_t version);
  void Advance(uint64_t version);
  bool HasSynced() const;
  uint64_t Latest() const;
  // Waits until the cache has synced and has reached `version`; returns false after `timeout`.
  bool WaitFor(uint64_t version, absl::Duration timeout) const;

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;
  bool synced_ MUSTER_GUARDED_BY(mu_) = false;
  uint64_t latest_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CACHE_CACHE_INDEX_H_
