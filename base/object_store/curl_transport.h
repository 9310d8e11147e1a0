#ifndef MUSTER_BASE_OBJECT_STORE_CURL_TRANSPORT_H_
#define MUSTER_BASE_OBJECT_STORE_CURL_TRANSPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/object_store/http_transport.h"

namespace muster {

struct CurlOptions {
  // A file of certificates (PEM) that sign the store's; empty: the machine's.
  std::string authorities;
  // Without it, the proxy that the environment names is not used.
  bool proxies = true;
  absl::Duration connect_timeout = absl::Seconds(10);
  // An exchange that moves less than a KiB a second for this long is given up.
  absl::Duration stall_timeout = absl::Seconds(30);
};

// HTTP/1.1 over libcurl. Connections are kept and used again, by one exchange at a time each.
class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(CurlOptions options);
  ~CurlTransport() override;

  absl::StatusOr<HttpAnswer> Send(const HttpRequest& request) override;

 private:
  struct Handle;
  std::unique_ptr<Handle> Take();
  void Configure(void* easy) const;

  const CurlOptions options_;
  Mutex mu_;
  std::vector<std::unique_ptr<Handle>> idle_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_CURL_TRANSPORT_H_
