#ifndef MUSTER_OPERATOR_KUBE_CACHE_REFLECTOR_H_
#define MUSTER_OPERATOR_KUBE_CACHE_REFLECTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {

// Receives the objects that a reflector lists and watches. Called by one thread.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // Begins a list, which is delivered object by object so that it is never held whole as JSON.
  // Called again if the list before broke off.
  virtual void BeginList() = 0;
  virtual void Listed(Json object) = 0;
  // Ends a complete list: objects that are not in it no longer exist.
  virtual void EndList(uint64_t version) = 0;
  virtual void Upsert(Json object, uint64_t version) = 0;
  virtual void Remove(const ObjectKey& key, uint64_t version) = 0;
  // Reports that no further object of this type changed up to `version`.
  virtual void Advance(uint64_t version) = 0;
};

struct ReflectorOptions {
  std::string name_space;  // empty: all
  std::string label_selector;
  std::string field_selector;
  int64_t page_size = 500;
  // Lists through the watch itself (send_initial_events), so that neither side holds the whole
  // answer as text. Falls back to paged lists if the server rejects that.
  bool stream_list = false;
  // Selects the fields that the sink reads; null selects all. Must outlive the reflector.
  const FieldMask* fields = nullptr;
  absl::Duration call_timeout = absl::Seconds(30);
  absl::Duration first_retry = absl::Milliseconds(100);
  absl::Duration longest_retry = absl::Seconds(30);
  // Returns a value in [0, 1) that spreads the retries of many reflectors. If empty, there is no
  // spread.
  std::function<double()> jitter;
  // Called for each failed list or watch; it is retried.
  std::function<void(const absl::Status&)> on_error;
};

// Mirrors one type into a sink. It lists, then watches from the list's version for ever; on Expired
// it lists again; on other errors it waits (doubling the delay) and continues from the last version
// seen. RunOnce must be called by one thread; ListAfter and HasListedAfter are thread-safe.
//
//   while (!stopping) reflector.RunOnce(absl::Milliseconds(500));
class Reflector {
 public:
  Reflector(Api& api, const ResourceType& type, ReflectorOptions options, ReflectorSink& sink,
            const Clock& clock);
  ~Reflector();

  // Lists if needed, then applies the events of the watch, waiting up to `wait` for the first.
  // During a back-off it does nothing and returns at once (see RetryAt). Returns the number of
  // events applied.
  int RunOnce(absl::Duration wait);

  // Requests a list that begins at `when` (Monotonic) or later, however fresh the watch seems: a
  // new leader must have seen one before it acts on an object's absence. A request for a later time
  // than the last one cuts a back-off short, unless the server asked for that delay.
  void ListAfter(absl::Time when);
  // Returns true if the sink has such a list.
  bool HasListedAfter(absl::Time when) const;

  // Returns when the next attempt is due (Monotonic), or InfinitePast when not backing off.
  absl::Time RetryAt() const { return retry_at_; }
  int64_t lists() const { return lists_; }
  int64_t failures() const { return failures_; }
  // Returns true if lists are streamed.
  bool streams() const { return streams_; }

 private:
  void ApplyListRequest();
  bool TakeRetryNow();
  absl::Status ListAll();
  absl::Status ListInPages(std::string& version);
  // Leaves the watch open for the events after the list.
  absl::Status ListFromStream(std::string& version);
  absl::Status OpenWatch();
  WatchOptions Selection() const;
  CallOptions Call() const { return {.timeout = options_.call_timeout, .fields = options_.fields}; }
  absl::Status Drain(absl::Duration wait, int& events);
  void Apply(WatchEvent event, uint64_t version);
  void Failed(const absl::Status& status);

  Api& api_;
  const ResourceType type_;
  const ReflectorOptions options_;
  ReflectorSink& sink_;
  const Clock& clock_;

  std::string version_;  // last seen; empty: list first
  std::unique_ptr<Watcher> watcher_;
  absl::Time opened_at_;  // the watch, Monotonic
  int tries_ = 0;         // in a row without an event or a lasting stream
  absl::Time retry_at_ = absl::InfinitePast();
  absl::Time server_retry_at_ = absl::InfinitePast();  // ListAfter does not cut it short
  bool streams_;
  int64_t lists_ = 0;
  int64_t failures_ = 0;

  mutable Mutex mu_;
  absl::Time list_requested_after_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
  bool retry_now_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Time listed_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CACHE_REFLECTOR_H_
