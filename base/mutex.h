#ifndef MUSTER_BASE_MUTEX_H_
#define MUSTER_BASE_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

// Locks with clang's thread-safety annotations. They wrap std::mutex rather than absl::Mutex
// because ThreadSanitizer sees std::mutex even when the libraries it links are not instrumented.

#if defined(__clang__)
#define MUSTER_THREAD_ANNOTATION_(x) __attribute__((x))
#else
#define MUSTER_THREAD_ANNOTATION_(x)
#endif
#define MUSTER_GUARDED_BY(mu) MUSTER_THREAD_ANNOTATION_(guarded_by(mu))
#define MUSTER_REQUIRES(...) MUSTER_THREAD_ANNOTATION_(requires_capability(__VA_ARGS__))
#define MUSTER_EXCLUDES(...) MUSTER_THREAD_ANNOTATION_(locks_excluded(__VA_ARGS__))

namespace muster {

class MUSTER_THREAD_ANNOTATION_(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() MUSTER_THREAD_ANNOTATION_(acquire_capability()) { mu_.lock(); }
  void Unlock() MUSTER_THREAD_ANNOTATION_(release_capability()) { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class MUSTER_THREAD_ANNOTATION_(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mu) MUSTER_THREAD_ANNOTATION_(acquire_capability(mu)) : mu_(mu) {
    mu_.Lock();
  }
  ~MutexLock() MUSTER_THREAD_ANNOTATION_(release_capability()) { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// A wait may end without a signal: call it in a loop that checks the condition.
class CondVar {
 public:
  void Wait(Mutex& mu) MUSTER_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // Returns false if `timeout` expired first.
  bool WaitFor(Mutex& mu, absl::Duration timeout) MUSTER_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    const bool woken =
        cv_.wait_for(lock, absl::ToChronoMicroseconds(timeout)) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace muster

#endif  // MUSTER_BASE_MUTEX_H_
