#ifndef MUSTER_OPERATOR_RECONCILE_FAN_OUT_H_
#define MUSTER_OPERATOR_RECONCILE_FAN_OUT_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace muster::control {

// Makes independent blocking calls, such as the creates of a job's pods.
class FanOut {
 public:
  virtual ~FanOut() = default;
  // Calls work(0) to work(count - 1), each once; returns when all have returned.
  virtual void Run(int count, const std::function<void(int)>& work) = 0;

  // Returns an instance that makes the calls one after the other on the caller's thread.
  static FanOut& InOrder();
};

// Makes several calls at a time: on the caller's thread, so that it always makes progress, and on
// `helpers` more threads that all callers share. Thread-safe.
class ThreadFanOut final : public FanOut {
 public:
  explicit ThreadFanOut(int helpers);
  // No Run may be under way.
  ~ThreadFanOut() override;

  void Run(int count, const std::function<void(int)>& work) override;

 private:
  struct Batch {
    const std::function<void(int)>* work = nullptr;
    int count = 0;
    int next = 0;  // the first call that has not begun
    int done = 0;
  };

  void Help();
  // Makes calls of `batch` until all of them have begun.
  void WorkOn(Batch& batch) MUSTER_REQUIRES(mu_);

  Mutex mu_;
  CondVar changed_;
  CondVar done_;
  std::deque<Batch*> batches_ MUSTER_GUARDED_BY(mu_);  // those with calls that have not begun
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_FAN_OUT_H_
