#ifndef MUSTER_OPERATOR_KUBE_BUFFERED_TLS_CLIENT_H_
#define MUSTER_OPERATOR_KUBE_BUFFERED_TLS_CLIENT_H_

#include <functional>

#include "absl/time/time.h"
#include "httplib.h"

namespace muster::kube {

// httplib's client over TLS, which takes an answer's head byte by byte from OpenSSL, and waits for
// the socket before each; here they come from a buffer, and a request's head and body leave as one
// record. For one caller at a time, as its base.
class BufferedTlsClient final : public httplib::SSLClient {
 public:
  using SSLClient::SSLClient;

  // No wait of the next request goes on beyond it (Monotonic), however slowly bytes come in:
  // httplib limits each wait alone. Connecting has limits of its own.
  void set_deadline(absl::Time deadline) { deadline_ = deadline; }

 private:
  bool process_socket(const Socket& socket,
                      std::function<bool(httplib::Stream& stream)> callback) override;

  absl::Time deadline_ = absl::InfiniteFuture();
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_BUFFERED_TLS_CLIENT_H_
