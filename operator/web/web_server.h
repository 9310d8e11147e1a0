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
  // "unix:/path", for this user only, or "host:port", with port 0 for any free one.
  std::string address;
  // Checks each request; null admits everyone who can connect.
  Gate gate;
  // The keys for TLS; null for none.
  TlsKeys keys;
  Commands commands = Commands::kAnswered;
};

// The operator's HTTP servers. docs/http-api.md describes the answers.
class WebServer {
 public:
  // Serves all pages. kUnavailable if the address is taken.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(WebOptions options, WebDeps deps);
  // Serves only health checks, without TLS or a gate, from its own port and thread.
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
