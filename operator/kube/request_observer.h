#ifndef MUSTER_OPERATOR_KUBE_REQUEST_OBSERVER_H_
#define MUSTER_OPERATOR_KUBE_REQUEST_OBSERVER_H_

#include <string_view>

#include "absl/time/time.h"

namespace muster::kube {

// Told about every request to the API server. Called by the thread that makes the request: must be
// quick and thread-safe.
struct RequestObserver {
  virtual ~RequestObserver() = default;
  // `verb`: get, list, watch, create, update, update_status, patch, delete or bind. `resource`: the
  // plural. `code`: the HTTP status; 0: no answer came. Each attempt of a retried call counts; a
  // watch is finished when its stream is open.
  virtual void Finished(std::string_view verb, std::string_view resource, int code,
                        absl::Duration latency) = 0;
  // A request waited this long for the client's own rate limit.
  virtual void Throttled(absl::Duration wait) = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REQUEST_OBSERVER_H_
