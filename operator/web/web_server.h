#ifndef MUSTER_OPERATOR_WEB_WEB_SERVER_H_
#define MUSTER_OPERATOR_WEB_WEB_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/web/gate.h"
#include "operator/web/http/channel.h"
#include "operator/web/http/http_server.h"
#include "operator/web/routes.h"
#include "operator/web/web_deps.h"

namespace muster::control {

struct WebOptions {
  // "unix:/path", for this user alone, or "host:port", port 0 for any free one.
  std::string address;
  // Who else is asked about each request; null: whoever can connect may ask.
  Gate gate;
  // To serve TLS with; null: plain.
  TlsKeys keys;
  Commands commands = Commands::kAnswered;
};

// The operator's doors. What they answer: docs/http-api.md.
class WebServer {
 public:
  // All pages. kUnavailable when the address is taken.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(WebOptions options, WebDeps deps);
  // Health alone, plain and to anybody, from a port and a thread of its own.
  static absl::StatusOr<std::unique_ptr<WebServer>> StartProbes(const std::string& address,
                                                                WebDeps deps);
  ~WebServer();

  std::string address() const;  // with the real port
  void Stop();                  // idempotent

 private:
  struct Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_WEB_SERVER_H_
