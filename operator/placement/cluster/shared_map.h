#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_SHARED_MAP_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_SHARED_MAP_H_

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace muster::control {

// A map from strings whose copies share the buckets that neither has changed since: a copy costs
// one pointer for each bucket, a change copies one bucket. Values are shared and never changed in
// place. An object is for one thread; a copy may go to any thread.
template <typename Value, size_t kBuckets = 64>
class SharedMap {
 public:
  using Pointer = std::shared_ptr<const Value>;

  Pointer Find(const std::string& key) const {
    const Bucket* bucket = buckets_[BucketOf(key)].get();
    if (bucket == nullptr) return nullptr;
    const auto it = bucket->find(key);
    return it == bucket->end() ? nullptr : it->second;
  }

  // Inserts the value, or replaces the one with its key.
  void Set(const std::string& key, Pointer value) {
    Bucket& bucket = Own(BucketOf(key));
    const auto [it, inserted] = bucket.insert_or_assign(key, std::move(value));
    (void)it;
    if (inserted) ++size_;
  }

  void Erase(const std::string& key) {
    const size_t at = BucketOf(key);
    if (buckets_[at] == nullptr || buckets_[at]->count(key) == 0) return;
    Own(at).erase(key);
    --size_;
  }

  size_t size() const { return size_; }

  // The order has no meaning; it is the same for equal histories.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& bucket : buckets_) {
      if (bucket == nullptr) continue;
      for (const auto& [key, value] : *bucket) visit(key, *value);
    }
  }

 private:
  using Bucket = std::map<std::string, Pointer>;

  static size_t BucketOf(const std::string& key) {
    return std::hash<std::string>{}(key) % kBuckets;
  }

  // A bucket is changed in place only by the object that copied it last, and only until that object
  // is copied itself, which clears `owned_` of both.
  Bucket& Own(size_t at) {
    if (!owned_.mine[at]) {
      buckets_[at] = buckets_[at] == nullptr ? std::make_shared<Bucket>()
                                             : std::make_shared<Bucket>(*buckets_[at]);
      owned_.mine[at] = true;
    }
    return *buckets_[at];
  }

  struct Ownership {
    Ownership() = default;
    Ownership(const Ownership& other) { other.mine.fill(false); }
    Ownership& operator=(const Ownership& other) {
      other.mine.fill(false);
      mine.fill(false);
      return *this;
    }
    mutable std::array<bool, kBuckets> mine{};
  };

  std::array<std::shared_ptr<Bucket>, kBuckets> buckets_;
  Ownership owned_;
  size_t size_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_SHARED_MAP_H_
