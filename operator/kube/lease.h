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
  // Unique per process start (host name + random), so that a restarted process is a new candidate.
  std::string identity;
  // Other candidates wait this long after the last renewal.
  absl::Duration lease_duration = absl::Seconds(15);
  // The holder gives up this long after the last renewal.
  absl::Duration renew_deadline = absl::Seconds(10);
  absl::Duration retry_period = absl::Seconds(2);
  // Written on the Lease at every renewal; they hold the address that standbys report to agents.
  Labels annotations;
};

// Leader election on a coordination.k8s.io Lease, interoperable with client-go's. Timestamps of
// other processes are never compared with local ones: a lease is free if it has not *changed* for
// lease_duration on the local monotonic clock, or if its holder released it. A lease is not a lock,
// so writes must still be checked by the server. Pass Clock::Boot(): a machine that slept has lost
// its lease.
//
//   kStandby --acquired--> kLeader --renew_deadline passed, or taken over--> kLost (final)
//
// Step and Release must be called by one thread; the accessors are thread-safe.
class LeaderElector {
 public:
  enum class State { kStandby, kLeader, kLost };
  struct Callbacks {
    std::function<void(int64_t term)> started;
    // Once called, the process must make no further write.
    std::function<void(const absl::Status& why)> lost;
    // Called when an attempt failed and will be retried. May be empty.
    std::function<void(const absl::Status& why)> failed;
  };

  LeaderElector(Api& api, const Clock& clock, LeaseConfig config, Callbacks callbacks);

  // Makes one attempt to acquire or renew, at `now` (Monotonic), and returns the time of the next
  // call. A standby looks twice per retry_period, so that it acquires soon after a release. The
  // calls of one renewal together never outlast renew_deadline.
  absl::Time Step(absl::Time now);
  // Releases the lease on a clean exit, so that the next leader need not wait. Best effort.
  absl::Status Release();

  State state() const;
  // Returns true while the last renewal is younger than renew_deadline. A process that was stopped
  // and thawed sees false at once, before its next Step.
  bool IsLeader() const;
  // Returns OK while IsLeader, else the reason. FencedApi calls it before each write.
  absl::Status CheckLeading() const;
  // Returns the Lease's leaseTransitions, which every acquisition raises: at least 1, or 0 before
  // the first acquisition.
  int64_t term() const;
  // Returns the start of the newest successful attempt; InfinitePast before the first.
  absl::Time renewed_at() const;
  // Returns true if the previous holder released the lease, so that all of its writes have ended.
  bool was_released() const;
  // Return the holder of the lease as last seen, and that Lease's annotations.
  std::string holder() const;
  Labels holder_annotations() const;

 private:
  struct Observed {
    std::string record;  // spec as last seen; a change restarts lease_duration
    absl::Time since = absl::InfinitePast();
    absl::Duration duration;  // the holder's leaseDurationSeconds
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
  absl::Status failure_;  // of attempts since the last success; Step's thread only

  mutable Mutex mu_;
  State state_ MUSTER_GUARDED_BY(mu_) = State::kStandby;
  int64_t term_ MUSTER_GUARDED_BY(mu_) = 0;
  bool was_released_ MUSTER_GUARDED_BY(mu_) = false;
  absl::Time renewed_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
  Observed observed_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_LEASE_H_
