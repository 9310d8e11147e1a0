#include "agent/worker/coordinator_mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/time/clock.h"

namespace muster::agent {

CoordinatorMailbox::CoordinatorMailbox() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
CoordinatorMailbox::~CoordinatorMailbox() { close(event_fd_); }

void CoordinatorMailbox::Wake() {
  const uint64_t one = 1;
  if (write(event_fd_, &one, sizeof(one)) < 0) return;  // the reader wakes anyway
}

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
  Wake();
}

void CoordinatorMailbox::End(const void* stream, absl::Status why) {
  MutexLock lock(mu_);
  if (stream != current_) return;
  current_ = nullptr;
  news_.push_back(StreamEnded{std::move(why)});
  Wake();
}

void CoordinatorMailbox::Answer(Identified answer) {
  MutexLock lock(mu_);
  news_.push_back(std::move(answer));
  Wake();
}

void CoordinatorMailbox::Bury(std::shared_ptr<void> call) {
  MutexLock lock(mu_);
  dead_.push_back(std::move(call));
  --calls_;
  buried_.NotifyAll();
}

std::deque<CoordinatorMailbox::News> CoordinatorMailbox::Take() {
  uint64_t ignored;
  while (read(event_fd_, &ignored, sizeof(ignored)) > 0) {
  }
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
