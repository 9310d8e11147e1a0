#include "operator/kube/lease.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json_fields.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {
namespace {

int64_t TransitionsOf(const Json& lease) {
  return IntegerField(ObjectField(lease, "spec"), "leaseTransitions").value_or(0);
}

std::string HolderOf(const Json& lease) { return StringAt(lease, {"spec", "holderIdentity"}); }

}  // namespace

LeaderElector::LeaderElector(Api& api, const Clock& clock, LeaseConfig config, Callbacks callbacks)
    : api_(api), clock_(clock), config_(std::move(config)), callbacks_(std::move(callbacks)) {}

absl::Time LeaderElector::Step(absl::Time now) {
  if (state() == State::kLost) return absl::InfiniteFuture();
  // A thawed ex-leader is detected here, before it renews a lease that another process may have
  // taken.
  const auto overdue = [this](absl::Time at) {
    MutexLock lock(mu_);
    return state_ == State::kLeader && at - renewed_at_ >= config_.renew_deadline;
  };
  if (overdue(now)) {
    Lose(failure_.ok() ? absl::DeadlineExceededError("the lease was not renewed in time")
                       : Annotate(failure_, "the lease could not be renewed"));
    return absl::InfiniteFuture();
  }
  const absl::Status attempt = TryHold(now);
  // An attempt near the deadline has little time, so its timeout explains less than an earlier
  // failure.
  if (failure_.ok() || !absl::IsDeadlineExceeded(attempt)) failure_ = attempt;
  if (state() == State::kLost) return absl::InfiniteFuture();
  if (!attempt.ok() && overdue(clock_.Monotonic())) {
    Lose(Annotate(failure_, "the lease could not be renewed"));
    return absl::InfiniteFuture();
  }
  if (!attempt.ok() && callbacks_.failed) callbacks_.failed(attempt);
  return now + (state() == State::kLeader ? config_.retry_period : config_.retry_period / 2);
}

// Limits a request to the time in which a late success cannot hide a lost lease. A leader's calls
// also end by its renew deadline.
CallOptions LeaderElector::CallWithinLease() const {
  CallOptions call{.timeout = config_.lease_duration - config_.renew_deadline};
  MutexLock lock(mu_);
  if (state_ != State::kLeader) return call;
  const absl::Duration left = renewed_at_ + config_.renew_deadline - clock_.Monotonic();
  call.timeout = std::max(std::min(call.timeout, left), absl::Milliseconds(1));
  return call;
}

Json LeaderElector::Spec(const Json& before, int64_t transitions) const {
  Json spec = {{"holderIdentity", config_.identity},
               {"leaseDurationSeconds", absl::ToInt64Seconds(config_.lease_duration)},
               {"renewTime", kube::FormatMicroTime(clock_.Wall())},
               {"leaseTransitions", transitions}};
  const bool ours = HolderOf(before) == config_.identity && TransitionsOf(before) == transitions;
  const Json* acquired = Find(before, {"spec", "acquireTime"});
  spec["acquireTime"] = ours && acquired != nullptr ? *acquired : spec["renewTime"];
  return spec;
}

absl::Status LeaderElector::TryHold(absl::Time now) {
  absl::StatusOr<Json> lease = api_.Get(kLeases, config_.lease, CallWithinLease());
  const bool absent = absl::IsNotFound(lease.status());
  if (!lease.ok() && !absent) return lease.status();
  const bool leading = state() == State::kLeader;
  Json wanted = absent ? NewObject(kLeases, config_.lease) : *lease;
  if (absent) {
    if (leading) {
      Lose(absl::AbortedError("the lease was deleted"));
      return absl::OkStatus();
    }
    wanted["spec"] = Spec(wanted, 1);
  } else {
    MutexLock lock(mu_);
    Observe(*lease, now);
    if (!leading && HeldByOther(now)) return absl::OkStatus();
    wanted["spec"] = Spec(*lease, leading ? term_ : TransitionsOf(*lease) + 1);
  }
  if (leading && (HolderOf(*lease) != config_.identity || TransitionsOf(*lease) != term())) {
    Lose(absl::AbortedError(absl::StrCat("the lease is held by ", HolderOf(*lease))));
    return absl::OkStatus();
  }
  for (const auto& [key, value] : config_.annotations) SetAnnotation(wanted, key, value);
  const bool released = !absent && HolderOf(*lease).empty();
  const CallOptions call = CallWithinLease();
  const absl::StatusOr<Json> written =
      absent ? api_.Create(kLeases, wanted, call) : api_.Update(kLeases, wanted, call);
  MUSTER_RETURN_IF_ERROR(written.status());
  Acquired(*written, now, released);
  return absl::OkStatus();
}

void LeaderElector::Observe(const Json& lease, absl::Time now) {
  const Json* spec = Find(lease, {"spec"});
  std::string record = spec == nullptr ? "" : DumpJson(*spec);
  if (record != observed_.record || observed_.since == absl::InfinitePast()) {
    observed_.record = std::move(record);
    observed_.since = now;
  }
  observed_.holder = HolderOf(lease);
  observed_.annotations = AnnotationsOf(lease);
  const auto seconds = IntegerField(ObjectField(lease, "spec"), "leaseDurationSeconds");
  observed_.duration = seconds ? absl::Seconds(*seconds) : config_.lease_duration;
}

bool LeaderElector::HeldByOther(absl::Time now) {
  return !observed_.holder.empty() && now < observed_.since + observed_.duration;
}

void LeaderElector::Acquired(const Json& lease, absl::Time now, bool released) {
  bool fresh = false;
  {
    MutexLock lock(mu_);
    fresh = state_ == State::kStandby;
    if (fresh) was_released_ = released;
    state_ = State::kLeader;
    term_ = TransitionsOf(lease);
    // The time before the request, since the server may have counted from then.
    renewed_at_ = now;
    Observe(lease, now);
  }
  if (fresh && callbacks_.started) callbacks_.started(term());
}

void LeaderElector::Lose(const absl::Status& why) {
  {
    MutexLock lock(mu_);
    state_ = State::kLost;
  }
  if (callbacks_.lost) callbacks_.lost(why);
}

absl::Status LeaderElector::Release() {
  if (state() != State::kLeader) return absl::OkStatus();
  const CallOptions call = CallWithinLease();
  MUSTER_ASSIGN_OR_RETURN(Json lease, api_.Get(kLeases, config_.lease, call));
  if (HolderOf(lease) != config_.identity) return absl::OkStatus();
  {
    MutexLock lock(mu_);
    state_ = State::kLost;  // before the write: this process must not lead once another can acquire
  }
  lease["spec"]["holderIdentity"] = "";
  lease["spec"]["leaseDurationSeconds"] = 1;
  lease["spec"]["renewTime"] = kube::FormatMicroTime(clock_.Wall());
  return api_.Update(kLeases, lease, call).status();
}

LeaderElector::State LeaderElector::state() const {
  MutexLock lock(mu_);
  return state_;
}

bool LeaderElector::IsLeader() const {
  const absl::Time now = clock_.Monotonic();
  MutexLock lock(mu_);
  return state_ == State::kLeader && now - renewed_at_ < config_.renew_deadline;
}

absl::Status LeaderElector::CheckLeading() const {
  const absl::Time now = clock_.Monotonic();
  MutexLock lock(mu_);
  if (state_ != State::kLeader) return absl::FailedPreconditionError("the lease is not held");
  if (now - renewed_at_ < config_.renew_deadline) return absl::OkStatus();
  return absl::DeadlineExceededError("the lease was not renewed in time");
}

absl::Time LeaderElector::renewed_at() const {
  MutexLock lock(mu_);
  return renewed_at_;
}

bool LeaderElector::was_released() const {
  MutexLock lock(mu_);
  return was_released_;
}

int64_t LeaderElector::term() const {
  MutexLock lock(mu_);
  return term_;
}

std::string LeaderElector::holder() const {
  MutexLock lock(mu_);
  return observed_.holder;
}

Labels LeaderElector::holder_annotations() const {
  MutexLock lock(mu_);
  return observed_.annotations;
}

}  // namespace muster::kube
