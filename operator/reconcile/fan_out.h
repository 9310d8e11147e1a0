#ifndef MUSTER_OPERATOR_RECONCILE_FAN_OUT_H_
#define MUSTER_OPERATOR_RECONCILE_FAN_OUT_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace muster::control {

// Makes independent calls that block, such as the creates of a job's pods.
class FanOut {
 public:
  virtual ~FanOut() = default;
  // Calls work(0) to work(count - 1), each once; returns when all have returned.
  virtual void Run(int count, const std::function<void(int)>& work) = 0;

  // One after the other on the caller's thread.
  static FanOut& InOrder();
};

// Several at a time: on the caller's thread, which so always gets on, and on `helpers` more that
// all callers share. Thread-safe.
class ThreadFanOut final : public FanOut {
 public:
  explicit ThreadFanOut(int helpers);
  // No call may be under way.
  ~ThreadFanOut() override;

  void Run(int count, const std::function<void(int)>& work) override;

 private:
  struct Batch {
    const std::function<void(int)>* work = nullptr;
    int count = 0;
    int next = 0;  // not yet begun
    int done = 0;
  };

  void Help();
  // Works on `batch` until all of it has begun.
  void WorkOn(Batch& batch) MUSTER_REQUIRES(mu_);

  Mutex mu_;
  CondVar changed_;
  CondVar done_;
  std::deque<Batch*> batches_ MUSTER_GUARDED_BY(mu_);  // with something left to begin
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_FAN_OUT_H_
