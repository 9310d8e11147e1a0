#include "operator/coordinator/identify_queue.h"

#include <utility>

namespace muster::control {

IdentifyQueue::IdentifyQueue() {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
}

IdentifyQueue::~IdentifyQueue() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool IdentifyQueue::Add(std::function<void()> task) {
  MutexLock lock(mu_);
  if (stopping_ || tasks_.size() >= kMaxWaiting) return false;
  tasks_.push_back(std::move(task));
  changed_.NotifyOne();
  return true;
}

void IdentifyQueue::Run() {
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(mu_);
      while (tasks_.empty() && !stopping_) changed_.Wait(mu_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace muster::control
