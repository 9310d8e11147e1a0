#include "operator/kube/cache/reflector.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

// One RunOnce never applies more events than this, so that a busy stream cannot starve its caller.
constexpr int kMaxEvents = 1000;
// A stream that was open for this long counts as healthy, even without an event.
constexpr absl::Duration kHealthyLife = absl::Seconds(10);

}  // namespace

Reflector::Reflector(Api& api, const ResourceType& type, ReflectorOptions options,
                     ReflectorSink& sink, const Clock& clock)
    : api_(api),
      type_(type),
      options_(std::move(options)),
      sink_(sink),
      clock_(clock),
      streams_(options_.stream_list) {}

Reflector::~Reflector() {
  if (watcher_ != nullptr) watcher_->Stop();
}

int Reflector::RunOnce(absl::Duration wait) {
  const absl::Time now = clock_.Monotonic();
  if (now < server_retry_at_ || (now < retry_at_ && !TakeRetryNow())) return 0;
  retry_at_ = absl::InfinitePast();
  ApplyListRequest();
  if (version_.empty()) {
    if (absl::Status listed = ListAll(); !listed.ok()) return Failed(listed), 0;
  }
  if (watcher_ == nullptr) {
    if (absl::Status opened = OpenWatch(); !opened.ok()) return Failed(opened), 0;
  }
  int events = 0;
  const absl::Status drained = Drain(wait, events);
  if (!drained.ok()) Failed(drained);
  return events;
}

void Reflector::ListAfter(absl::Time when) {
  MutexLock lock(mu_);
  retry_now_ = retry_now_ || when > list_requested_after_;
  list_requested_after_ = std::max(list_requested_after_, when);
}

bool Reflector::TakeRetryNow() {
  MutexLock lock(mu_);
  if (!std::exchange(retry_now_, false)) return false;
  tries_ = 0;
  return true;
}

bool Reflector::HasListedAfter(absl::Time when) const {
  MutexLock lock(mu_);
  return listed_at_ >= when;
}

void Reflector::ApplyListRequest() {
  MutexLock lock(mu_);
  if (listed_at_ >= list_requested_after_ || clock_.Monotonic() < list_requested_after_) return;
  version_.clear();
  watcher_.reset();
}

absl::Status Reflector::ListAll() {
  const absl::Time began = clock_.Monotonic();
  std::string version;
  ++lists_;
  absl::Status streamed = absl::UnimplementedError("not asked for");
  if (streams_) streamed = ListFromStream(version);
  if (!streamed.ok()) {
    watcher_.reset();
    streams_ = streams_ && IsRetriable(streamed);
    MUSTER_RETURN_IF_ERROR(ListInPages(version));
  }
  version_ = version;
  MutexLock lock(mu_);
  listed_at_ = began;
  return absl::OkStatus();
}

absl::Status Reflector::ListInPages(std::string& version) {
  sink_.BeginList();
  ListOptions list;
  list.name_space = options_.name_space;
  list.label_selector = options_.label_selector;
  list.field_selector = options_.field_selector;
  list.limit = options_.page_size;
  list.on_item = [this](Json item) { sink_.Listed(std::move(item)); };
  do {
    MUSTER_ASSIGN_OR_RETURN(const ObjectList page, api_.List(type_, list, Call()));
    list.continue_token = page.continue_token;
    version = page.resource_version;
  } while (!list.continue_token.empty());
  MUSTER_ASSIGN_OR_RETURN(const uint64_t number, ParseResourceVersion(version));
  sink_.EndList(number);
  return absl::OkStatus();
}

absl::Status Reflector::ListFromStream(std::string& version) {
  std::set<ObjectKey> deleted;
  sink_.BeginList();
  WatchOptions watch = Selection();
  watch.send_initial_events = true;
  opened_at_ = clock_.Monotonic();
  const absl::Time deadline = opened_at_ + options_.call_timeout;
  MUSTER_ASSIGN_OR_RETURN(watcher_, api_.Watch(type_, watch, Call()));
  // The server does not stop for the list: changes may arrive before the list's end.
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(std::optional<WatchEvent> event,
                            watcher_->Next(deadline - clock_.Monotonic()));
    if (!event.has_value()) {
      return ApiError(Reason::kTimeout, "the server did not end its streamed list in time");
    }
    switch (event->type) {
      case WatchEvent::Type::kAdded:
      case WatchEvent::Type::kModified:
        deleted.erase(KeyOf(event->object));
        sink_.Listed(std::move(event->object));
        break;
      case WatchEvent::Type::kDeleted:
        deleted.insert(KeyOf(event->object));
        break;
      case WatchEvent::Type::kBookmark:
        if (AnnotationOf(event->object, kInitialEventsEnd).empty()) break;
        version = ResourceVersionOf(event->object);
        MUSTER_ASSIGN_OR_RETURN(const uint64_t number, ParseResourceVersion(version));
        sink_.EndList(number);
        for (const ObjectKey& key : deleted) sink_.Remove(key, number);
        return absl::OkStatus();
    }
  }
}

WatchOptions Reflector::Selection() const {
  WatchOptions watch;
  watch.name_space = options_.name_space;
  watch.label_selector = options_.label_selector;
  watch.field_selector = options_.field_selector;
  return watch;
}

absl::Status Reflector::OpenWatch() {
  WatchOptions watch = Selection();
  watch.resource_version = version_;
  opened_at_ = clock_.Monotonic();
  MUSTER_ASSIGN_OR_RETURN(watcher_, api_.Watch(type_, watch, Call()));
  return absl::OkStatus();
}

absl::Status Reflector::Drain(absl::Duration wait, int& events) {
  while (events < kMaxEvents) {
    MUSTER_ASSIGN_OR_RETURN(std::optional<WatchEvent> event,
                            watcher_->Next(events == 0 ? wait : absl::ZeroDuration()));
    if (!event.has_value()) break;
    const std::string version = ResourceVersionOf(event->object);
    MUSTER_ASSIGN_OR_RETURN(const uint64_t number, ParseResourceVersion(version));
    Apply(*std::move(event), number);
    version_ = version;
    tries_ = 0;
    ++events;
  }
  return absl::OkStatus();
}

void Reflector::Apply(WatchEvent event, uint64_t version) {
  switch (event.type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
      return sink_.Upsert(std::move(event.object), version);
    case WatchEvent::Type::kDeleted:
      return sink_.Remove(KeyOf(event.object), version);
    case WatchEvent::Type::kBookmark:
      return sink_.Advance(version);
  }
}

void Reflector::Failed(const absl::Status& status) {
  const bool lived = watcher_ != nullptr && clock_.Monotonic() - opened_at_ >= kHealthyLife;
  watcher_.reset();
  const Reason reason = ReasonOf(status);
  if (lived) tries_ = 0;
  ++tries_;
  // A regular end of a stream is not a failure: watch again at once.
  if (reason == Reason::kWatchClosed && tries_ == 1) return;
  ++failures_;
  if (options_.on_error) options_.on_error(status);
  // Only after a lost or broken stream can the watch resume from the same version. A version that
  // the server does not have (restored from a backup, say) is reported as Timeout, so that lists
  // too.
  const bool same_version = reason == Reason::kWatchClosed ||
                            status.code() == absl::StatusCode::kUnavailable ||
                            status.code() == absl::StatusCode::kResourceExhausted;
  if (!same_version) version_.clear();
  absl::Duration delay = BackoffAfter(tries_, {options_.first_retry, options_.longest_retry});
  const auto asked = RetryAfterOf(status);
  if (asked) {
    server_retry_at_ = clock_.Monotonic() + *asked;
    delay = std::max(delay, *asked);
  }
  if (options_.jitter) delay *= 1 + options_.jitter();
  retry_at_ = clock_.Monotonic() + delay;
}

}  // namespace muster::kube
