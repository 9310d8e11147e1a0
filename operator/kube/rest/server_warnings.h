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

// What an API server has to say about requests that it took: a version that goes, a value that
// means nothing. Each sentence is logged once, for it comes with every such request. Thread-safe.
class ServerWarnings {
 public:
  // As many different ones are remembered, and no more are told.
  static constexpr size_t kMost = 256;

  // `headers` are values of Warning headers. Returns the sentences that were new.
  std::vector<std::string> Tell(const std::vector<std::string>& headers);

 private:
  Mutex mu_;
  std::set<std::string> told_ MUSTER_GUARDED_BY(mu_);
};

// The text of `299 - "text"` (RFC 7234, 5.5), printable; nothing where it is none, or another code.
std::optional<std::string> WarningText(std::string_view header);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_REST_SERVER_WARNINGS_H_
