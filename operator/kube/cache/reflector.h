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

// Where a reflector puts what it sees. Called by one thread.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // A list, object by object, so that nobody holds all of it as JSON. BeginList again when the one
  // before broke off.
  virtual void BeginList() = 0;
  virtual void Listed(Json object) = 0;
  // The list was complete: what is not in it no longer exists.
  virtual void EndList(uint64_t version) = 0;
  virtual void Upsert(Json object, uint64_t version) = 0;
  virtual void Remove(const ObjectKey& key, uint64_t version) = 0;
  // Nothing of this type changed up to `version`.
  virtual void Advance(uint64_t version) = 0;
};

struct ReflectorOptions {
  std::string name_space;  // empty: all
  std::string label_selector;
  std::string field_selector;
  int64_t page_size = 500;
  // Lists through the watch itself (send_initial_events), so that neither side holds the whole
  // answer as text. A server that refuses that is listed in pages.
  bool stream_list = false;
  // What the sink reads of the objects; null: all. Must outlive the reflector.
  const FieldMask* fields = nullptr;
  absl::Duration call_timeout = absl::Seconds(30);
  absl::Duration first_retry = absl::Milliseconds(100);
  absl::Duration longest_retry = absl::Seconds(30);
  // Spreads retries of many reflectors; in [0, 1). Empty: no spread.
  std::function<double()> jitter;
  // Told about each failed list or watch; they are retried.
  std::function<void(const absl::Status&)> on_error;
};

// Mirrors one type into a sink: list, then watch from the list's version for ever; on Expired, list
// again; on other errors, wait (doubling) and go on from the last version seen. RunOnce is for one
// thread; ListAfter and HasListedAfter are thread-safe.
//
//   while (!stopping) reflector.RunOnce(absl::Milliseconds(500));
class Reflector {
 public:
  Reflector(Api& api, const ResourceType& type, ReflectorOptions options, ReflectorSink& sink,
            const Clock& clock);
  ~Reflector();

  // Lists if it must, then takes what the watch has, waiting up to `wait` for the first event.
  // While backing off it does nothing and returns at once: see RetryAt. Returns the events applied.
  int RunOnce(absl::Duration wait);

  // Asks for a list that begins at `when` (Monotonic) or later, however fresh the watch seems: what
  // a new leader must have seen before it acts on absence. A later wish than the last one cuts a
  // back-off short, unless the server asked for that time.
  void ListAfter(absl::Time when);
  // Whether such a list is in the sink.
  bool HasListedAfter(absl::Time when) const;

  // When the next attempt is due (Monotonic), or InfinitePast when not backing off.
  absl::Time RetryAt() const { return retry_at_; }
  int64_t lists() const { return lists_; }
  int64_t failures() const { return failures_; }
  // Whether lists are streamed.
  bool streams() const { return streams_; }

 private:
  void TakeListWish();
  bool TakeHurry();
  absl::Status ListAll();
  absl::Status ListInPages(std::string& version);
  // Leaves the watch open that it came through.
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
  int tries_ = 0;         // in a row without an event or a stream that lived
  absl::Time retry_at_ = absl::InfinitePast();
  absl::Time asked_until_ = absl::InfinitePast();  // by the server; no wish cuts that short
  bool streams_;
  int64_t lists_ = 0;
  int64_t failures_ = 0;

  mutable Mutex mu_;
  absl::Time list_wish_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
  bool hurry_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Time listed_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CACHE_REFLECTOR_H_
