#ifndef MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_WATCHER_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_WATCHER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/memory/memory_store.h"
#include "operator/kube/selector.h"

namespace muster::kube {

struct WatchFilter {
  std::string name_space;
  LabelSelector labels;
  FieldSelector fields;
  bool Matches(const Json& object) const;
};

// A cursor into a table's history. It holds no queue, so a slow watcher costs no memory and fails
// with Expired once history has moved past it.
class MemoryWatcher final : public Watcher {
 public:
  MemoryWatcher(MemoryApi& api, StoreTable& table, WatchFilter filter, uint64_t after,
                const WatchOptions& options, const FieldMask* fields);

  // Adds the objects that exist at the start, for a watch without a version.
  void AddInitial(const std::vector<SharedJson>& objects);
  // Marks the end of the initial objects.
  void EndInitial();

  absl::StatusOr<std::optional<WatchEvent>> Next(absl::Duration wait) override;
  void Stop() override;

 private:
  // Takes a batch of events from history. Returns false if there was none.
  absl::StatusOr<bool> Fetch() MUSTER_REQUIRES(api_.mu_);
  absl::Status Ended() const;
  std::optional<WatchEvent> Translate(const StoredEvent& event) const;
  std::optional<WatchEvent> Bookmark();
  WatchEvent BookmarkAt(uint64_t version) const;

  MemoryApi& api_;
  StoreTable& table_;
  const WatchFilter filter_;
  const FieldMask* const fields_;  // null: all
  const bool bookmarks_;
  const absl::Time closes_at_;
  uint64_t cursor_;  // everything up to here is in ready_ or was returned
  absl::Time last_bookmark_;
  uint64_t last_sent_;
  std::deque<WatchEvent> initial_;
  std::deque<StoredEvent> ready_;
  absl::Status failed_;
  std::atomic<bool> stopped_{false};
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_MEMORY_WATCHER_H_
