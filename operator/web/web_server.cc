#include "operator/web/web_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "httplib.h"
#include "operator/web/bounded_server.h"
#include "operator/web/debug_page.h"
#include "operator/web/decision_page.h"
#include "operator/web/exposition.h"
#include "operator/web/health.h"
#include "operator/web/job_actions.h"
#include "operator/web/pages.h"
#include "operator/web/placement_page.h"
#include "operator/web/queue_page.h"

namespace muster::control {
namespace {

constexpr char kJsonType[] = "application/json";
constexpr char kPlainType[] = "text/plain; charset=utf-8";
constexpr char kJobPath[] = R"(/api/v1/jobs/([^/]+)/([^/]+))";
constexpr size_t kMaxBody = size_t{64} << 10;
constexpr size_t kMaxSteps = 4096;
constexpr int64_t kMaxDepth = 32;
// Jobs of each queue.
constexpr int64_t kQueueJobs = 100;
constexpr int64_t kMostQueueJobs = 10000;
// Each open connection holds a thread; ConnectionLimits says for how long at most.
constexpr int kThreads = 8;

int HttpCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

void Reply(const absl::StatusOr<Json>& json, httplib::Response& response) {
  if (json.ok()) {
    response.set_content(DumpJson(*json, 2) + "\n", kJsonType);
    return;
  }
  response.status = HttpCode(json.status());
  const Json error = {{"error", std::string(json.status().message())}, {"code", response.status}};
  response.set_content(DumpJson(error) + "\n", kJsonType);
}

kube::ObjectKey KeyIn(const httplib::Request& request) {
  return {request.matches[1].str(), request.matches[2].str()};
}

absl::Status ReadNumber(const httplib::Request& request, const char* name, int64_t least,
                        int64_t& value) {
  if (!request.has_param(name)) return absl::OkStatus();
  const std::string text = request.get_param_value(name);
  if (absl::SimpleAtoi(text, &value) && value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=", text, ": must be a whole number, at least ", least));
}

absl::StatusOr<Json> GetJob(const WebDeps& deps, const httplib::Request& request) {
  JobQuery query;
  int64_t limit = static_cast<int64_t>(query.limit);
  if (absl::Status status = ReadNumber(request, "since", -1, query.since); !status.ok()) {
    return status;
  }
  if (absl::Status status = ReadNumber(request, "limit", 0, limit); !status.ok()) return status;
  query.limit = std::min(static_cast<size_t>(limit), kMaxSteps);
  query.curve = request.has_param("curve") && request.get_param_value("curve") != "0";
  return JobPage(deps, KeyIn(request), query);
}

absl::StatusOr<Json> GetDebug(const WebDeps& deps, const httplib::Request& request) {
  DebugQuery query;
  if (absl::Status status = ReadNumber(request, "limit", 1, query.limit); !status.ok()) {
    return status;
  }
  query.job = request.get_param_value("job");
  query.after = request.get_param_value("after");
  return DebugPage(deps, query);
}

absl::StatusOr<Json> GetTopology(const WebDeps& deps, const httplib::Request& request) {
  int64_t depth = kMaxDepth;
  if (absl::Status status = ReadNumber(request, "depth", 0, depth); !status.ok()) return status;
  return TopologyPage(deps, static_cast<int>(std::min(depth, kMaxDepth)));
}

absl::StatusOr<Json> GetQueues(const WebDeps& deps, const httplib::Request& request) {
  int64_t limit = kQueueJobs;
  if (absl::Status status = ReadNumber(request, "limit", 0, limit); !status.ok()) return status;
  return QueuePage(deps, request.matches.size() > 1 ? request.matches[1].str() : "",
                   static_cast<int>(std::min(limit, kMostQueueJobs)));
}

void AddHealth(httplib::Server& server, const std::string& path, const WebDeps& deps,
               std::vector<HealthCheck> (*checks)(const WebDeps&)) {
  server.Get(path,
             [&deps, path, checks](const httplib::Request& request, httplib::Response& response) {
               const HealthPage page =
                   RenderHealth(path.substr(1), checks(deps), request.has_param("verbose"));
               response.status = page.healthy ? 200 : 503;
               response.set_content(page.text, kPlainType);
             });
}

// A page of another site must not command this server through its reader's browser.
bool IsForeign(const httplib::Request& request) {
  if (!request.has_header("Origin")) return false;
  return request.get_header_value("Origin") != "http://" + request.get_header_value("Host");
}

absl::StatusOr<Json> PostJob(const WebDeps& deps, const httplib::Request& request) {
  if (IsForeign(request)) return absl::PermissionDeniedError("a request of another site");
  const std::string verb = request.matches[3].str();
  if (verb == "stop") return SetSuspended(deps, KeyIn(request), true);
  if (verb == "resume") return SetSuspended(deps, KeyIn(request), false);
  if (verb == "save") return SaveNow(deps, KeyIn(request));
  return absl::NotFoundError(
      absl::StrCat("a job has no action '", verb, "'; there are stop, resume and save"));
}

// What the scheduler sees, decides and has decided.
void AddScheduler(httplib::Server& server, const WebDeps& deps) {
  server.Get("/api/v1/topology",
             [&deps](const httplib::Request& request, httplib::Response& response) {
               Reply(GetTopology(deps, request), response);
             });
  for (const char* path : {"/api/v1/queues", "/api/v1/queues/([^/]+)"}) {
    server.Get(path, [&deps](const httplib::Request& request, httplib::Response& response) {
      Reply(GetQueues(deps, request), response);
    });
  }
  server.Get("/api/v1/decisions/([^/]+)",
             [&deps](const httplib::Request& request, httplib::Response& response) {
               Reply(DecisionPage(deps, request.matches[1].str()), response);
             });
  server.Post("/api/v1/whatif",
              [&deps](const httplib::Request& request, httplib::Response& response) {
                Reply(WhatIfPage(deps, request.body), response);
              });
}

void AddRoutes(httplib::Server& server, const WebDeps& deps) {
  AddHealth(server, "/healthz", deps, LivenessChecks);
  AddHealth(server, "/livez", deps, LivenessChecks);
  AddHealth(server, "/readyz", deps, ReadinessChecks);
  server.Get("/metrics", [&deps](const httplib::Request& request, httplib::Response& response) {
    const bool open = WantsOpenMetrics(request.get_header_value("Accept"));
    response.set_content(MetricsPage(deps, open), open ? kOpenMetricsFormat : kTextFormat);
  });
  server.Get("/debug/state", [&deps](const httplib::Request& request, httplib::Response& response) {
    Reply(GetDebug(deps, request), response);
  });
  server.Get("/api/v1/jobs", [&deps](const httplib::Request&, httplib::Response& response) {
    Reply(JobList(deps), response);
  });
  server.Get(kJobPath, [&deps](const httplib::Request& request, httplib::Response& response) {
    Reply(GetJob(deps, request), response);
  });
  server.Get(absl::StrCat(kJobPath, "/placement"),
             [&deps](const httplib::Request& request, httplib::Response& response) {
               Reply(PlacementPage(deps, KeyIn(request)), response);
             });
  AddScheduler(server, deps);
  const auto post = [&deps](const httplib::Request& request, httplib::Response& response) {
    Reply(PostJob(deps, request), response);
  };
  server.Post(absl::StrCat(kJobPath, "/([^/]+)"), post);
  // A POST without a length has no body (curl -XPOST); the library would wait for one.
  server.set_pre_routing_handler(
      [post](const httplib::Request& request, httplib::Response& response) {
        using Result = httplib::Server::HandlerResponse;
        if (request.method != "POST" || request.has_header("Content-Length"))
          return Result::Unhandled;
        if (request.has_header("Transfer-Encoding")) return Result::Unhandled;
        httplib::Request bare = request;
        const std::regex path(absl::StrCat(kJobPath, "/([^/]+)"));
        if (!std::regex_match(bare.path, bare.matches, path)) return Result::Unhandled;
        post(bare, response);
        return Result::Handled;
      });
}

const char* ReasonOf(int code) {
  switch (code) {
    case 400:
      return "the request is malformed";
    case 404:
      return "there is nothing here";
    case 413:
      return "the body is too large";
    default:
      return "the request failed";
  }
}

void Configure(httplib::Server& server) {
  server.set_payload_max_length(kMaxBody);
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // The library's default shares the port with whoever has it.
  server.set_socket_options([](socket_t fd) {
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  });
  // What no route answered: unknown paths, bodies that are too large, malformed requests.
  server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    const Json error = {
        {"error", absl::StrCat(ReasonOf(response.status), ": ", request.method, " ", request.path)},
        {"code", response.status}};
    response.set_content(DumpJson(error) + "\n", kJsonType);
  });
}

}  // namespace

struct WebServer::Impl {
  explicit Impl(WebDeps deps_in) : deps(std::move(deps_in)) {}

  const WebDeps deps;
  BoundedServer server{ConnectionLimits{}};
  std::string address;
  std::thread thread;
};

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() { Stop(); }

std::string WebServer::address() const { return impl_->address; }

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const std::string& address,
                                                            WebDeps deps) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("the HTTP address '", address, "' must be host:port"));
  }
  const std::string host = address.substr(0, colon);
  auto impl = std::make_unique<Impl>(std::move(deps));
  Configure(impl->server);
  AddRoutes(impl->server, impl->deps);
  const int bound = port == 0                               ? impl->server.bind_to_any_port(host)
                    : impl->server.bind_to_port(host, port) ? port
                                                            : -1;
  if (bound <= 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen for HTTP on ", address,
                     ": the port may be taken; another is chosen with :0"));
  }
  impl->address = absl::StrCat(host, ":", bound);
  impl->thread = std::thread([server = &impl->server] { server->listen_after_bind(); });
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

void WebServer::Stop() {
  if (!impl_->thread.joinable()) return;
  // stop() before the thread listens would be lost.
  while (!impl_->server.is_running()) std::this_thread::yield();
  impl_->server.stop();
  impl_->thread.join();
}

}  // namespace muster::control
