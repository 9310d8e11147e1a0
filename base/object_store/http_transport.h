#ifndef MUSTER_BASE_OBJECT_STORE_HTTP_TRANSPORT_H_
#define MUSTER_BASE_OBJECT_STORE_HTTP_TRANSPORT_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster {

struct HttpRequest {
  std::string method;
  std::string url;
  std::map<std::string, std::string> headers;
  std::string_view body;        // must outlive the exchange
  size_t most_bytes = 1 << 20;  // of the answer's body
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// The seam to the network of an object store's client. Thread-safe.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  // Returns the answer, whatever its status. Unavailable, without the url, if there was none or not
  // the whole of it; the request may have taken effect. Follows no redirect.
  virtual absl::StatusOr<HttpAnswer> Send(const HttpRequest& request) = 0;
};

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_HTTP_TRANSPORT_H_
