#ifndef MUSTER_OPERATOR_WEB_HTTP_HTTP_SERVER_H_
#define MUSTER_OPERATOR_WEB_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "operator/web/http/channel.h"
#include "operator/web/http/http_message.h"
#include "operator/web/http/request_parser.h"

namespace muster::control {

struct HttpServerOptions {
  RequestLimits request;
  // From the first byte of a request to its last, however steadily bytes drip; and again for the
  // answer to be taken. A TLS handshake counts as a request.
  absl::Duration patience = absl::Seconds(10);
  // Between requests.
  absl::Duration idle = absl::Seconds(2);
  int requests_per_connection = 100;
  // A connection too many, of all or of one peer, takes the place of the oldest whose request is
  // not whole yet: who is slow loses it to who is not.
  size_t connections = 256;
  size_t connections_per_peer = 64;
  // Threads that answer; 0: answers are made by the thread that reads, which must not block then.
  int workers = 8;
};

// Thread-safe; may block when there are workers.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// An HTTP/1.1 server of our own: one thread reads and writes all connections and waits for none, so
// that slow clients delay nobody and hold bounded memory: the limits of a request each. A handler
// sees whole requests alone. Ranges, encodings and uploads are no part of it.
class HttpServer {
 public:
  // `address` as Listen has it. `keys` null: plain.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           HttpHandler handler,
                                                           HttpServerOptions options = {},
                                                           TlsKeys keys = nullptr);
  ~HttpServer();

  std::string address() const;  // with the real port
  void Stop();                  // idempotent

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_HTTP_SERVER_H_
