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
  // Limits the time from the first byte of a request to its last, however steadily bytes arrive,
  // and again the time to send the answer. A TLS handshake counts as a request.
  absl::Duration patience = absl::Seconds(10);
  // Limits the time between requests.
  absl::Duration idle = absl::Seconds(2);
  int requests_per_connection = 100;
  // A connection beyond one of these limits, in total or per peer, replaces the oldest one that is
  // not being answered: a slow client gives way to a faster one.
  size_t connections = 256;
  size_t connections_per_peer = 64;
  // Threads that run the handler. If 0, the thread that reads runs it, and the handler must not
  // block.
  int workers = 8;
};

// Must be thread-safe. May block if there are workers.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// An HTTP/1.1 server. One thread does all socket I/O without blocking, so that a slow client does
// not delay others and holds bounded memory: at most the limits of one request. A handler sees
// complete requests only. Ranges, encodings and uploads are not supported.
class HttpServer {
 public:
  // `address` is as for Listen. Null `keys` means no TLS.
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
