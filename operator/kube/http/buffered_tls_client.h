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

// httplib's client over TLS, which takes an answer's head byte by byte from OpenSSL, and waits for
// the socket before each; here they come from a buffer, and a request's head and body leave as one
// record. Its sockets are made elsewhere. For one caller at a time, as its base.
class BufferedTlsClient final : public httplib::SSLClient {
 public:
  using SSLClient::SSLClient;

  // No wait of the next request goes on beyond it (Monotonic), however slowly bytes come in:
  // httplib limits each wait alone. Connecting has a limit of its own besides, TLS included.
  void set_deadline(absl::Time deadline) { deadline_ = deadline; }

  // Makes the TCP connection that TLS is spoken over, until `deadline` (Monotonic).
  using Dial = std::function<absl::StatusOr<int>(absl::Time deadline)>;
  void set_dial(Dial dial) { dial_ = std::move(dial); }
  // Why the last one failed.
  const absl::Status& dialled() const { return dialled_; }

  // One call, connecting first where that is needed; of httplib only TLS is used. `request` is
  // asked for when there is a connection. True when the answer was read to its end, and then
  // `error` says nothing.
  bool Exchange(const std::function<HttpRequest()>& request, HttpAnswer& answer,
                httplib::Error& error);

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override;
  bool process_socket(const Socket& socket,
                      std::function<bool(httplib::Stream& stream)> callback) override;

  absl::Time deadline_ = absl::InfiniteFuture();
  Dial dial_;
  absl::Status dialled_;
  std::function<bool(httplib::Stream&)> exchange_;  // in place of httplib's, while there is one
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_BUFFERED_TLS_CLIENT_H_
