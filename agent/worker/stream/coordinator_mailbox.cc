#include "agent/worker/stream/coordinator_mailbox.h"

#include <utility>

#include "absl/time/clock.h"

namespace muster::agent {

void CoordinatorMailbox::SetCurrent(const void* stream) {
  MutexLock lock(mu_);
  current_ = stream;
}

void CoordinatorMailbox::CallStarted() {
  MutexLock lock(mu_);
  ++calls_;
}

void CoordinatorMailbox::Put(const void* stream, v1alpha1::OperatorMessage message) {
  MutexLock lock(mu_);
  if (stream != current_) return;
  news_.push_back(std::move(message));
  wake_.Wake();
}

void CoordinatorMailbox::End(const void* stream, absl::Status why) {
  MutexLock lock(mu_);
  if (stream != current_) return;
  current_ = nullptr;
  news_.push_back(StreamEnded{std::move(why)});
  wake_.Wake();
}

void CoordinatorMailbox::Answer(Identified answer) {
  MutexLock lock(mu_);
  news_.push_back(std::move(answer));
  wake_.Wake();
}

void CoordinatorMailbox::Bury(std::shared_ptr<void> call) {
  MutexLock lock(mu_);
  dead_.push_back(std::move(call));
  --calls_;
  buried_.NotifyAll();
}

std::deque<CoordinatorMailbox::News> CoordinatorMailbox::Take() {
  wake_.Clear();
  MutexLock lock(mu_);
  return std::exchange(news_, {});
}

void CoordinatorMailbox::DestroyFinishedCalls() {
  std::vector<std::shared_ptr<void>> dead;  // destroyed after the lock is released
  MutexLock lock(mu_);
  dead.swap(dead_);
}

void CoordinatorMailbox::WaitForCalls(absl::Time deadline) {
  MutexLock lock(mu_);
  while (calls_ > 0) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration() || !buried_.WaitFor(mu_, left)) return;
  }
}

}  // namespace muster::agent
