#ifndef MUSTER_OPERATOR_KUBE_BUFFERED_TLS_CLIENT_H_
#define MUSTER_OPERATOR_KUBE_BUFFERED_TLS_CLIENT_H_

#include <functional>

#include "absl/time/time.h"
#include "httplib.h"
#include "operator/kube/http_exchange.h"

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

  // One call, connecting first where that is needed; of httplib only the connection is used. True
  // when the answer was read to its end, and then `error` says nothing.
  bool Exchange(const HttpRequest& request, HttpAnswer& answer, httplib::Error& error);

 private:
  bool process_socket(const Socket& socket,
                      std::function<bool(httplib::Stream& stream)> callback) override;

  absl::Time deadline_ = absl::InfiniteFuture();
  std::function<bool(httplib::Stream&)> exchange_;  // in place of httplib's, while there is one
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_BUFFERED_TLS_CLIENT_H_
