#ifndef MUSTER_OPERATOR_OBJECTS_EVENT_RECORDER_H_
#define MUSTER_OPERATOR_OBJECTS_EVENT_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/core/state/plan.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"

namespace muster::control {

// The object that an event is about.
struct EventTarget {
  std::string api_version;
  std::string kind;
  kube::ObjectKey key;  // without a namespace if cluster-scoped
  std::string uid;
};
// Uses the node's name as its UID, like the kubelet: a node's events are found by its name.
EventTarget NodeTarget(const std::string& name);

// Writes Kubernetes Events about jobs and other objects. A repeated event raises the count of the
// one written before; an object that floods is cut off by a token bucket, as in client-go. Losing
// an event is allowed: failures are logged and forgotten. Thread-safe.
//
// With Sending::kApart, Record never waits for the API server, however slow that is:
//
//   EventRecorder events(api, clock, "muster-operator", EventRecorder::Sending::kApart);
//   std::thread sender([&] { while (events.WaitAndRun()) {} });
//   ...
//   events.Shutdown();
//   sender.join();
class EventRecorder {
 public:
  // Each object may have this many events at once, then one per kRefill.
  static constexpr int kBurst = 25;
  static constexpr absl::Duration kRefill = absl::Seconds(10);
  // The most events that wait to be sent; further ones are dropped.
  static constexpr size_t kMaxWaiting = 1000;

  enum class Sending {
    kAtOnce,  // before Record returns
    kApart,   // in RunOnce or WaitAndRun
  };

  EventRecorder(kube::Api& api, const Clock& clock, std::string component,
                Sending sending = Sending::kAtOnce)
      : api_(api), clock_(clock), component_(std::move(component)), sending_(sending) {}

  void Record(const kube::ObjectKey& job, const std::string& job_uid, const Event& event);
  void Record(const EventTarget& target, const Event& event);
  // Sends one event; returns false if none waits.
  bool RunOnce();
  // Waits for an event and sends it. After Shutdown returns false once all are sent or one has
  // failed.
  bool WaitAndRun();
  void Shutdown();

  void Forget(const std::string& uid);
  int64_t dropped() const;

 private:
  struct Written {
    std::string name;
    int64_t count = 0;
    absl::Time first;
  };
  struct Source {
    double tokens = kBurst;
    absl::Time refilled = absl::InfinitePast();
    std::map<std::string, Written> written;  // by type, reason and message
  };

  struct Waiting {
    std::string name;
    kube::ObjectKey about;
    Json json;
    bool update = false;  // it was sent before, with a lower count
  };

  bool TakeToken(Source& source) MUSTER_REQUIRES(mu_);
  Json Build(const EventTarget& target, const Event& event, const Written& written) const;
  void Add(Waiting waiting) MUSTER_REQUIRES(mu_);
  absl::Status Send(const Waiting& waiting);

  kube::Api& api_;
  const Clock& clock_;
  const std::string component_;
  const Sending sending_;

  mutable Mutex mu_;
  CondVar added_;
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
  bool failed_ MUSTER_GUARDED_BY(mu_) = false;  // sending the last one failed
  std::deque<Waiting> waiting_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, Source> sources_ MUSTER_GUARDED_BY(mu_);  // by UID
  int64_t serial_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t dropped_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_EVENT_RECORDER_H_
