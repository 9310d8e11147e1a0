#ifndef MUSTER_OPERATOR_KUBE_LEASE_H_
#define MUSTER_OPERATOR_KUBE_LEASE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {

struct LeaseConfig {
  ObjectKey lease;
  // Unique per process start (host name + random), so that a restart is another candidate.
  std::string identity;
  absl::Duration lease_duration =
      absl::Seconds(15);  // others wait this long after the last renewal
  absl::Duration renew_deadline = absl::Seconds(10);  // the holder gives up after this
  absl::Duration retry_period = absl::Seconds(2);
  // Written on the Lease at every renewal: the address standbys tell agents.
  Labels annotations;
};

// Leader election on a coordination.k8s.io Lease, interoperable with client-go's. Another process's
// times are never compared with ours: a lease is free when it has not *changed* for lease_duration
// by our monotonic clock, or when its holder gave it up. A lease is not a lock: writes stay checked
// by the server. Give it Clock::Boot(): a machine that slept has lost its lease.
//
//   kStandby --acquired--> kLeader --renew_deadline without a renewal, or taken over--> kLost
//   (final)
//
// Step and Release are for one thread; the readers are thread-safe.
class LeaderElector {
 public:
  enum class State { kStandby, kLeader, kLost };
  struct Callbacks {
    std::function<void(int64_t term)> started;
    // After this the process must write nothing more.
    std::function<void(const absl::Status& why)> lost;
    // An attempt came to nothing, and there will be others. May be empty.
    std::function<void(const absl::Status& why)> failed;
  };

  LeaderElector(Api& api, const Clock& clock, LeaseConfig config, Callbacks callbacks);

  // One attempt to acquire or renew, at `now` (Monotonic). Returns when to call again: a standby
  // looks twice per retry_period, so that it is there soon after a release. A renewal's calls
  // together never outlast renew_deadline.
  absl::Time Step(absl::Time now);
  // Gives the lease up (a clean exit), so that the next leader need not wait. Best effort.
  absl::Status Release();

  State state() const;
  // True only while the last renewal is younger than renew_deadline: false at once in a process
  // that was stopped and thawed, before its next Step.
  bool IsLeader() const;
  // OK while IsLeader, else the reason: what FencedApi asks before each write.
  absl::Status CheckLeading() const;
  // The Lease's leaseTransitions: at least 1, raised by every acquisition. 0 before the first.
  int64_t term() const;
  // When the newest successful attempt began; InfinitePast before the first.
  absl::Time renewed_at() const;
  // Whether the lease was acquired from a holder that gave it up, all its writes ended.
  bool was_released() const;
  // Who holds the lease as last seen, and that Lease's annotations.
  std::string holder() const;
  Labels holder_annotations() const;

 private:
  struct Observed {
    std::string record;  // spec as last seen; a change restarts lease_duration
    absl::Time since = absl::InfinitePast();
    absl::Duration duration;  // what the holder promised
    std::string holder;
    Labels annotations;
  };

  absl::Status TryHold(absl::Time now);
  CallOptions CallWithinLease() const;
  void Observe(const Json& lease, absl::Time now) MUSTER_REQUIRES(mu_);
  bool HeldByOther(absl::Time now) MUSTER_REQUIRES(mu_);
  Json Spec(const Json& before, int64_t transitions) const;
  void Acquired(const Json& lease, absl::Time now, bool released);
  void Lose(const absl::Status& why);

  Api& api_;
  const Clock& clock_;
  const LeaseConfig config_;
  const Callbacks callbacks_;
  absl::Status failure_;  // why attempts fail since the last success; of Step's thread

  mutable Mutex mu_;
  State state_ MUSTER_GUARDED_BY(mu_) = State::kStandby;
  int64_t term_ MUSTER_GUARDED_BY(mu_) = 0;
  bool was_released_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Time renewed_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
  Observed observed_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_LEASE_H_
