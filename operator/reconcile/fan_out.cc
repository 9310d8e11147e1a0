#include "operator/reconcile/fan_out.h"

namespace muster::control {
namespace {

class OneByOne final : public FanOut {
 public:
  void Run(int count, const std::function<void(int)>& work) override {
    for (int i = 0; i < count; ++i) work(i);
  }
};

}  // namespace

FanOut& FanOut::InOrder() {
  static auto& one_by_one = *new OneByOne;
  return one_by_one;
}

ThreadFanOut::ThreadFanOut(int helpers) {
  for (int i = 0; i < helpers; ++i) helpers_.emplace_back([this] { Help(); });
}

ThreadFanOut::~ThreadFanOut() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadFanOut::WorkOn(Batch& batch) {
  while (batch.next < batch.count) {
    const int mine = batch.next++;
    if (batch.next == batch.count) std::erase(batches_, &batch);
    mu_.Unlock();
    (*batch.work)(mine);
    mu_.Lock();
    // The last call ends the caller's wait, and with it the batch's lifetime.
    if (++batch.done == batch.count) {
      done_.NotifyAll();
      return;
    }
  }
}

void ThreadFanOut::Help() {
  MutexLock lock(mu_);
  while (!stopping_) {
    if (batches_.empty()) {
      changed_.Wait(mu_);
    } else {
      WorkOn(*batches_.front());
    }
  }
}

void ThreadFanOut::Run(int count, const std::function<void(int)>& work) {
  if (count <= 0) return;
  Batch batch{&work, count};
  MutexLock lock(mu_);
  if (count > 1) {
    batches_.push_back(&batch);
    for (int i = 1; i < count && i <= static_cast<int>(helpers_.size()); ++i) changed_.NotifyOne();
  }
  WorkOn(batch);
  while (batch.done < batch.count) done_.Wait(mu_);
}

}  // namespace muster::control
