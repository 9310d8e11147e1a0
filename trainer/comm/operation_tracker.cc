#include "trainer/comm/operation_tracker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace muster::trainer {
namespace {

absl::Time Now() { return Clock::Real().Monotonic(); }

}  // namespace

int64_t OperationTracker::Started() {
  MutexLock lock(mu_);
  running_.insert(next_);
  return next_++;
}

void OperationTracker::Ended(int64_t operation) {
  MutexLock lock(mu_);
  running_.erase(operation);
  changed_.NotifyAll();
}

void OperationTracker::Broke(int64_t operation, const absl::Status& error) {
  (void)Fail(error);
  MutexLock lock(mu_);
  broken_.insert(operation);
  running_.erase(operation);
  changed_.NotifyAll();
}

absl::Status OperationTracker::Fail(const absl::Status& failure) {
  MutexLock lock(mu_);
  if (failure_.ok()) {
    failure_ = failure;
    failed_at_ = Now();
    changed_.NotifyAll();
  }
  return failure_;
}

absl::Status OperationTracker::failure() const {
  MutexLock lock(mu_);
  return failure_;
}

absl::Status OperationTracker::Await(int64_t operation, absl::Duration limit) {
  const absl::Time until = Now() + limit;
  MutexLock lock(mu_);
  while (true) {
    if (!running_.contains(operation) && !broken_.contains(operation)) return absl::OkStatus();
    if (!failure_.ok()) return failure_;
    const absl::Duration left = until - Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat(
          "a peer is silent: the operation has not ended within ", absl::FormatDuration(limit)));
    }
    changed_.WaitFor(mu_, left);
  }
}

bool OperationTracker::Settle(int64_t operation) {
  MutexLock lock(mu_);
  const absl::Time until = std::min(failed_at_, Now()) + kSettleTime;
  while (running_.contains(operation)) {
    const absl::Duration left = until - Now();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(mu_, left);
  }
  return true;
}

bool OperationTracker::busy() const {
  MutexLock lock(mu_);
  return !running_.empty();
}

}  // namespace muster::trainer
