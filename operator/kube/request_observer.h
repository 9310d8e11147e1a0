#ifndef MUSTER_OPERATOR_KUBE_REQUEST_OBSERVER_H_
#define MUSTER_OPERATOR_KUBE_REQUEST_OBSERVER_H_

#include <string_view>

#include "absl/time/time.h"

namespace muster::kube {

// Receives a call for every request to the API server, on the thread that makes the request.
// Implementations must be quick and thread-safe.
struct RequestObserver {
  virtual ~RequestObserver() = default;
  // `verb` is get, list, watch, create, update, update_status, patch, delete or bind, and
  // `resource` the plural. `code` is the HTTP status, or 0 if no answer came. Each attempt of a
  // retried call counts; a watch is finished when its stream is open.
  virtual void Finished(std::string_view verb, std::string_view resource, int code,
                        absl::Duration latency) = 0;
  // Called when a request waited this long for the client's own rate limit.
  virtual void Throttled(absl::Duration wait) = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REQUEST_OBSERVER_H_
