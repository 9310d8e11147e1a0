#include "operator/coordinator/identity/identify_queue.h"

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

bool IdentifyQueue::Add(const std::string& peer, std::function<void()> task) {
  MutexLock lock(mu_);
  if (stopping_ || tasks_.size() >= kMaxWaiting) return false;
  size_t& of_peer = of_peer_[peer];
  if (of_peer >= kMaxWaitingOfPeer) return false;
  ++of_peer;
  tasks_.push_back({peer, std::move(task)});
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
      task = std::move(tasks_.front().task);
      const auto of_peer = of_peer_.find(tasks_.front().peer);
      if (--of_peer->second == 0) of_peer_.erase(of_peer);
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace muster::control
