#include "operator/coordinator/identity/validity_table.h"

#include <algorithm>

namespace muster::control {

void ValidityTable::Raise(Entry& entry, absl::Time until) {
  const int64_t wanted = absl::ToUnixMicros(until);
  if (entry.until_us_.load(std::memory_order_relaxed) < wanted) entry.until_us_.store(wanted);
}

void ValidityTable::DropUnused() {
  if (entries_.size() < clean_at_) return;
  std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
  clean_at_ = std::max<size_t>(64, 2 * entries_.size());
}

std::shared_ptr<const ValidityTable::Entry> ValidityTable::Hold(const std::string& uri,
                                                                absl::Time until) {
  MutexLock lock(mu_);
  DropUnused();
  std::weak_ptr<Entry>& known = entries_[uri];
  std::shared_ptr<Entry> entry = known.lock();
  if (entry == nullptr) known = entry = std::make_shared<Entry>();
  Raise(*entry, until);
  return entry;
}

void ValidityTable::Extend(const std::string& uri, absl::Time until) {
  MutexLock lock(mu_);
  const auto it = entries_.find(uri);
  if (it == entries_.end()) return;
  if (const std::shared_ptr<Entry> entry = it->second.lock()) Raise(*entry, until);
}

size_t ValidityTable::size() const {
  MutexLock lock(mu_);
  return entries_.size();
}

}  // namespace muster::control
