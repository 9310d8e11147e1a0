#ifndef MUSTER_OPERATOR_KUBE_HTTP_BUFFERED_TLS_CLIENT_H_
#define MUSTER_OPERATOR_KUBE_HTTP_BUFFERED_TLS_CLIENT_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "httplib.h"
#include "operator/kube/http/http_exchange.h"

namespace muster::kube {

// An httplib TLS client with buffered I/O. Plain httplib reads an answer's head from OpenSSL byte
// by byte and polls the socket before each byte; here the bytes come from a buffer, and a request's
// head and body leave as one TLS record. Its sockets are made by `Dial`. Serves one caller at a
// time, like its base class.
class BufferedTlsClient final : public httplib::SSLClient {
 public:
  using SSLClient::SSLClient;

  // Bounds every wait of the next request (Monotonic), however slowly bytes arrive: httplib limits
  // each wait separately. Connecting, including the TLS handshake, has its own limit in addition.
  void set_deadline(absl::Time deadline) { deadline_ = deadline; }

  // Makes the TCP connection below TLS, by `deadline` (Monotonic).
  using Dial = std::function<absl::StatusOr<int>(absl::Time deadline)>;
  void set_dial(Dial dial) { dial_ = std::move(dial); }
  // Returns the status of the last dial.
  const absl::Status& dialled() const { return dialled_; }

  // Performs one call, connecting first if needed; httplib contributes only TLS. `request` is
  // called once there is a connection. Returns true if the answer was read to its end; `error` is
  // meaningful only otherwise.
  bool Exchange(const std::function<HttpRequest()>& request, HttpAnswer& answer,
                httplib::Error& error);

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override;
  bool process_socket(const Socket& socket,
                      std::function<bool(httplib::Stream& stream)> callback) override;

  absl::Time deadline_ = absl::InfiniteFuture();
  Dial dial_;
  absl::Status dialled_;
  std::function<bool(httplib::Stream&)> exchange_;  // replaces httplib's exchange while set
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_BUFFERED_TLS_CLIENT_H_
