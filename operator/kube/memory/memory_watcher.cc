#include "operator/kube/memory/memory_watcher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

constexpr size_t kBatch = 256;

}  // namespace

bool WatchFilter::Matches(const Json& object) const {
  if (!name_space.empty() && NamespaceOf(object) != name_space) return false;
  return labels.Matches(object) && fields.Matches(object);
}

MemoryWatcher::MemoryWatcher(MemoryApi& api, StoreTable& table, WatchFilter filter, uint64_t after,
                             const WatchOptions& options, const FieldMask* fields)
    : api_(api),
      table_(table),
      filter_(std::move(filter)),
      fields_(fields),
      bookmarks_(options.bookmarks),
      closes_at_(api.clock_.Monotonic() + options.server_timeout),
      cursor_(after),
      last_bookmark_(api.clock_.Monotonic()),
      last_sent_(after) {}

void MemoryWatcher::AddInitial(const std::vector<SharedJson>& objects) {
  for (const SharedJson& object : objects) {
    if (!filter_.Matches(*object)) continue;
    initial_.push_back({WatchEvent::Type::kAdded, SelectFields(fields_, *object)});
  }
}

void MemoryWatcher::EndInitial() {
  WatchEvent end = BookmarkAt(cursor_);
  SetAnnotation(end.object, kInitialEventsEnd, "true");
  initial_.push_back(std::move(end));
}

WatchEvent MemoryWatcher::BookmarkAt(uint64_t version) const {
  const ResourceType& type = table_.resource.type;
  Json object = {{"apiVersion", type.ApiVersion()}, {"kind", std::string(type.kind)}};
  SetResourceVersion(object, absl::StrCat(version));
  return WatchEvent{WatchEvent::Type::kBookmark, std::move(object)};
}

void MemoryWatcher::Stop() {
  // The lock ensures that Next is either before its check or already waiting.
  MutexLock lock(api_.mu_);
  stopped_ = true;
  table_.changed.NotifyAll();
}

absl::Status MemoryWatcher::Ended() const {
  if (stopped_) return absl::CancelledError("the watch was stopped");
  if (!failed_.ok()) return failed_;
  if (api_.clock_.Monotonic() >= closes_at_) {
    return ApiError(Reason::kWatchClosed, "the server ended the watch");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MemoryWatcher::Fetch() {
  if (cursor_ < table_.floor) {
    return ApiError(Reason::kExpired,
                    absl::StrCat("too old resource version: ", cursor_, " (", table_.floor, ")"));
  }
  auto event = std::upper_bound(
      table_.history.begin(), table_.history.end(), cursor_,
      [](uint64_t version, const StoredEvent& stored) { return version < stored.version; });
  for (; event != table_.history.end() && ready_.size() < kBatch; ++event) {
    ready_.push_back(*event);
    cursor_ = event->version;
  }
  // There are no more events of this type, so the watch is up to date with the store.
  if (event == table_.history.end()) cursor_ = api_.store_.version();
  return !ready_.empty();
}

std::optional<WatchEvent> MemoryWatcher::Translate(const StoredEvent& event) const {
  const bool before = event.before != nullptr && filter_.Matches(*event.before);
  const bool after = !event.deleted && filter_.Matches(*event.after);
  if (after) {
    return WatchEvent{before ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded,
                      SelectFields(fields_, *event.after)};
  }
  if (!before) return std::nullopt;
  // The object was deleted or left the selector: send its last matching state, at this change's
  // version.
  const Json& last = event.deleted ? *event.after : *event.before;
  WatchEvent gone{WatchEvent::Type::kDeleted, SelectFields(fields_, last)};
  SetResourceVersion(gone.object, absl::StrCat(event.version));
  return gone;
}

std::optional<WatchEvent> MemoryWatcher::Bookmark() {
  const absl::Time now = api_.clock_.Monotonic();
  if (!bookmarks_ || cursor_ <= last_sent_) return std::nullopt;
  if (now < last_bookmark_ + api_.options_.bookmark_interval) return std::nullopt;
  last_bookmark_ = now;
  last_sent_ = cursor_;
  return BookmarkAt(cursor_);
}

absl::StatusOr<std::optional<WatchEvent>> MemoryWatcher::Next(absl::Duration wait) {
  const absl::Time give_up = Clock::Real().Monotonic() + wait;
  while (true) {
    if (stopped_) return Ended();
    if (!initial_.empty()) {
      WatchEvent event = std::move(initial_.front());
      initial_.pop_front();
      return event;
    }
    while (!ready_.empty()) {
      const StoredEvent stored = std::move(ready_.front());
      ready_.pop_front();
      std::optional<WatchEvent> event = Translate(stored);
      if (!event.has_value()) continue;
      last_sent_ = stored.version;
      return event;
    }
    MutexLock lock(api_.mu_);
    if (absl::Status ended = Ended(); !ended.ok()) return failed_ = ended;
    const absl::StatusOr<bool> fetched = Fetch();
    if (!fetched.ok()) return failed_ = fetched.status();
    if (*fetched) continue;
    if (std::optional<WatchEvent> bookmark = Bookmark()) return bookmark;
    const absl::Duration left = give_up - Clock::Real().Monotonic();
    if (left <= absl::ZeroDuration()) return std::optional<WatchEvent>();
    table_.changed.WaitFor(api_.mu_, std::min(left, absl::Seconds(3600)));
  }
}

}  // namespace muster::kube
