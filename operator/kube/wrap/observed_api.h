#ifndef MUSTER_OPERATOR_KUBE_WRAP_OBSERVED_API_H_
#define MUSTER_OPERATOR_KUBE_WRAP_OBSERVED_API_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "base/clock.h"
#include "operator/kube/api.h"
#include "operator/kube/api_call.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/intercepted_api.h"

namespace muster::kube {

// Receives a call for every list and for every watch that is opened or ends, on the caller's
// thread. Implementations must be quick and thread-safe.
class WatchObserver {
 public:
  virtual ~WatchObserver() = default;
  // Counts a list from the start; its further pages are not reported.
  virtual void Listed(std::string_view resource) = 0;
  virtual void WatchOpened(std::string_view resource) = 0;
  // `reason` is a Kubernetes status reason such as WatchClosed, Expired or Timeout. Not called if
  // the watcher was stopped on this side.
  virtual void WatchEnded(std::string_view resource, std::string_view reason) = 0;
};

// An Api that reports its calls to observers. Thread-safe if the observers are. All arguments must
// outlive it and its watchers.
class ObservedApi final : public InterceptedApi {
 public:
  // `requests` may be null if the underlying client reports requests itself.
  ObservedApi(Api& api, const Clock& clock, WatchObserver& watches, RequestObserver* requests)
      : InterceptedApi(api), clock_(clock), watches_(watches), requests_(requests) {}

 protected:
  absl::Status Intercept(const ApiCall& call, const CallOptions& options, Forward forward) override;
  std::unique_ptr<Watcher> Wrap(const ResourceType& type,
                                std::unique_ptr<Watcher> watcher) override;

 private:
  const Clock& clock_;
  WatchObserver& watches_;
  RequestObserver* const requests_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_WRAP_OBSERVED_API_H_
