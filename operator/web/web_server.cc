#include "operator/web/web_server.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/web/http/http_message.h"

namespace muster::control {
namespace {

// Returns limits for probes: each is a line or two, and only a kubelet sends them.
HttpServerOptions ProbeLimits() {
  HttpServerOptions options;
  options.request = {.target = 1024, .head = 4096, .body = 0, .wire = 8192};
  options.patience = absl::Seconds(2);
  options.connections = 64;
  options.connections_per_peer = 16;
  options.workers = 0;
  return options;
}

}  // namespace

struct WebServer::Impl {
  explicit Impl(WebDeps deps_in) : deps(std::move(deps_in)) {}

  const WebDeps deps;
  std::unique_ptr<HttpServer> server;
  std::string address;
};

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() { Stop(); }

std::string WebServer::address() const { return impl_->address; }
void WebServer::Stop() { impl_->server->Stop(); }

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(WebOptions options, WebDeps deps) {
  auto impl = std::make_unique<Impl>(std::move(deps));
  HttpHandler handler = [deps = &impl->deps, gate = std::move(options.gate),
                         commands = options.commands](const HttpRequest& request) {
    const absl::Status admitted = gate == nullptr ? absl::OkStatus() : gate(request);
    return admitted.ok() ? AnswerRequest(*deps, commands, request) : AnswerError(admitted);
  };
  MUSTER_ASSIGN_OR_RETURN(impl->server, HttpServer::Start(options.address, std::move(handler), {},
                                                          std::move(options.keys)));
  impl->address = impl->server->address();
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::StartProbes(const std::string& address,
                                                                  WebDeps deps) {
  auto impl = std::make_unique<Impl>(std::move(deps));
  HttpHandler handler = [deps = &impl->deps](const HttpRequest& request) {
    std::optional<HttpResponse> health = AnswerHealth(*deps, request);
    if (health) return *std::move(health);
    return ErrorResponse(404, absl::StrCat("there is nothing here but health: ", request.path));
  };
  MUSTER_ASSIGN_OR_RETURN(impl->server,
                          HttpServer::Start(address, std::move(handler), ProbeLimits()));
  impl->address = impl->server->address();
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

}  // namespace muster::control
