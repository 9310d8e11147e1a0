#ifndef MUSTER_OPERATOR_APP_THROTTLE_OBSERVER_H_
#define MUSTER_OPERATOR_APP_THROTTLE_OBSERVER_H_

#include <string_view>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "operator/kube/request_observer.h"

namespace muster::control {

// Reports to the operator's metrics how long the API client waited for its own rate limit. The
// client is made before the metrics, so they are connected later; earlier waits are lost. Requests
// are not passed on: ObservedApi counts them for every kind of API. Thread-safe.
class ThrottleObserver final : public kube::RequestObserver {
 public:
  // Null disconnects. After it returns, the previous observer is no longer called.
  void ConnectTo(kube::RequestObserver* observer) {
    MutexLock lock(mu_);
    observer_ = observer;
  }

  void Finished(std::string_view, std::string_view, int, absl::Duration) override {}
  void Throttled(absl::Duration wait) override {
    MutexLock lock(mu_);
    if (observer_ != nullptr) observer_->Throttled(wait);
  }

 private:
  Mutex mu_;
  kube::RequestObserver* observer_ MUSTER_GUARDED_BY(mu_) = nullptr;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_THROTTLE_OBSERVER_H_
