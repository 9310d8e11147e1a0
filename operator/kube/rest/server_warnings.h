#ifndef MUSTER_OPERATOR_KUBE_REST_SERVER_WARNINGS_H_
#define MUSTER_OPERATOR_KUBE_REST_SERVER_WARNINGS_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace muster::kube {

// Logs the warnings that an API server adds to requests that it accepts: an API version about to be
// removed, a value without effect. Each sentence is logged once, since it comes with every such
// request. Thread-safe.
class ServerWarnings {
 public:
  // The number of different sentences that are remembered; further ones are dropped.
  static constexpr size_t kMost = 256;

  // Logs and returns the new sentences in `headers`, the values of Warning headers.
  std::vector<std::string> Log(const std::vector<std::string>& headers);

 private:
  Mutex mu_;
  std::set<std::string> logged_ MUSTER_GUARDED_BY(mu_);
};

// Returns the text of `299 - "text"` (RFC 7234, 5.5), printable; nothing if the header is malformed
// or has another code.
std::optional<std::string> WarningText(std::string_view header);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_SERVER_WARNINGS_H_
