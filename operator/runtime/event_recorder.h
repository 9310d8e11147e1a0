#ifndef MUSTER_OPERATOR_RUNTIME_EVENT_RECORDER_H_
#define MUSTER_OPERATOR_RUNTIME_EVENT_RECORDER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/core/plan.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"

namespace muster::control {

// Who an event is about.
struct EventTarget {
  std::string api_version;
  std::string kind;
  kube::ObjectKey key;  // without a namespace: of the cluster
  std::string uid;
};
// As the kubelet names it: a node's events are found by its name.
EventTarget NodeTarget(const std::string& name);

// Writes Kubernetes Events about jobs and others. The same event again raises the count of the one
// written before; an object that floods is cut off by a token bucket, as in client-go. Losing an
// event is allowed: failures are logged and forgotten. Thread-safe.
class EventRecorder {
 public:
  // Per object: this many at once, then one per kRefill.
  static constexpr int kBurst = 25;
  static constexpr absl::Duration kRefill = absl::Seconds(10);

  EventRecorder(kube::Api& api, const Clock& clock, std::string component)
      : api_(api), clock_(clock), component_(std::move(component)) {}

  void Record(const kube::ObjectKey& job, const std::string& job_uid, const Event& event);
  void Record(const EventTarget& target, const Event& event);
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

  bool TakeToken(Source& source) MUSTER_REQUIRES(mu_);
  Json Build(const EventTarget& target, const Event& event, const Written& written) const;

  kube::Api& api_;
  const Clock& clock_;
  const std::string component_;

  mutable Mutex mu_;
  std::map<std::string, Source> sources_ MUSTER_GUARDED_BY(mu_);  // by UID
  int64_t serial_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t dropped_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_EVENT_RECORDER_H_
