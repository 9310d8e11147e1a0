#include "operator/kube/cache/cache_index.h"

#include <algorithm>
#include <optional>

namespace muster::kube {

std::vector<IndexTerm> IndexTerms(const Json& object, const std::vector<std::string>& labels,
                                  const std::string& owner_kind) {
  std::vector<IndexTerm> terms;
  const std::optional<OwnerReference> owner = ControllerOf(object);
  if (owner && (owner_kind.empty() || owner->kind == owner_kind)) {
    terms.emplace_back("", owner->uid);
  }
  for (const std::string& label : labels) {
    std::string value = LabelOf(object, label);
    if (!value.empty()) terms.emplace_back(label, std::move(value));
  }
  return terms;
}

void CacheIndex::Put(const ObjectKey& key, std::vector<IndexTerm> terms) {
  Erase(key);
  if (terms.empty()) return;
  for (const IndexTerm& term : terms) keys_[term].insert(key);
  terms_[key] = std::move(terms);
}

void CacheIndex::Erase(const ObjectKey& key) {
  const auto it = terms_.find(key);
  if (it == terms_.end()) return;
  for (const IndexTerm& term : it->second) {
    const auto keys = keys_.find(term);
    if (keys == keys_.end()) continue;  // the same label named twice
    keys->second.erase(key);
    if (keys->second.empty()) keys_.erase(keys);
  }
  terms_.erase(it);
}

std::vector<ObjectKey> CacheIndex::Keys(const IndexTerm& term) const {
  const auto it = keys_.find(term);
  if (it == keys_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

std::vector<ObjectKey> CacheIndex::ByOwner(const std::string& uid) const { return Keys({"", uid}); }

std::vector<ObjectKey> CacheIndex::ByLabel(const std::string& label,
                                           const std::string& value) const {
  return Keys({label, value});
}

void VersionProgress::Synced(uint64_t version) {
  MutexLock lock(mu_);
  synced_ = true;
  latest_ = std::max(latest_, version);
  changed_.NotifyAll();
}

void VersionProgress::Advance(uint64_t version) {
  MutexLock lock(mu_);
  latest_ = std::max(latest_, version);
  changed_.NotifyAll();
}

bool VersionProgress::HasSynced() const {
  MutexLock lock(mu_);
  return synced_;
}

uint64_t VersionProgress::Latest() const {
  MutexLock lock(mu_);
  return latest_;
}

bool VersionProgress::WaitFor(uint64_t version, absl::Duration timeout) const {
  const absl::Time give_up = Clock::Real().Monotonic() + timeout;
  MutexLock lock(mu_);
  while (!synced_ || latest_ < version) {
    const absl::Duration left = give_up - Clock::Real().Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(mu_, std::min(left, absl::Hours(1)));
  }
  return true;
}

}  // namespace muster::kube
