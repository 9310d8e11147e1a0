#include "operator/web/web_server.h"

#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "httplib.h"

namespace muster::control {
namespace {

constexpr size_t kMaxBody = 64 << 10;
constexpr int kThreads = 4;

int HttpStatus(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return 409;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

void Answer(httplib::Response& response, int status, const Json& json) {
  response.status = status;
  response.set_content(DumpJson(json, 2) + "\n", "application/json");
}

void AnswerError(httplib::Response& response, const absl::Status& status) {
  Answer(response, HttpStatus(status), {{"error", std::string(status.message())}});
}

void Answer(httplib::Response& response, const absl::StatusOr<Json>& json) {
  json.ok() ? Answer(response, 200, *json) : AnswerError(response, json.status());
}

}  // namespace

class WebServer::Impl {
 public:
  explicit Impl(WebHooks hooks) : hooks_(std::move(hooks)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_payload_max_length(kMaxBody);
    server_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      Answer(response, response.status,
             {{"error", absl::StrCat("there is nothing at ", request.method, " ", request.path)}});
    });
    AddHealth();
    AddApi();
  }

  absl::StatusOr<std::string> Start(const std::string& address) {
    const size_t colon = address.rfind(':');
    int port = 0;
    if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
        port < 0 || port > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", address, "' is no host:port, e.g. 127.0.0.1:8080"));
    }
    const std::string host = address.substr(0, colon);
    const bool bound = port == 0 ? (port = server_.bind_to_any_port(host.c_str())) > 0
                                 : server_.bind_to_port(host.c_str(), port);
    if (!bound) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", address,
                                                 ": the port is taken or the address is not ours"));
    }
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return absl::StrCat(host, ":", port);
  }

  void Stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void AddHealth() {
    server_.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok\n", "text/plain");
    });
    server_.Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
      const absl::Status ready = hooks_.ready();
      response.status = ready.ok() ? 200 : 503;
      response.set_content(ready.ok() ? "ok\n" : std::string(ready.message()) + "\n", "text/plain");
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(hooks_.metrics(), "text/plain; version=0.0.4");
    });
    server_.Get("/debug/state", [this](const httplib::Request&, httplib::Response& response) {
      Answer(response, 200, hooks_.debug_state());
    });
  }

  void AddApi() {
    server_.Get("/api/v1/jobs", [this](const httplib::Request&, httplib::Response& response) {
      Answer(response, hooks_.jobs());
    });
    server_.Get("/api/v1/jobs/([^/]+)/([^/]+)",
                [this](const httplib::Request& request, httplib::Response& response) {
                  int64_t since = 0;
                  const std::string text = request.get_param_value("since");
                  if (!text.empty() && !absl::SimpleAtoi(text, &since)) {
                    AnswerError(response, absl::InvalidArgumentError(absl::StrCat(
                                              "since must be a step number, not '", text, "'")));
                    return;
                  }
                  Answer(response, hooks_.job(request.matches[1], request.matches[2], since));
                });
    server_.Post("/api/v1/jobs/([^/]+)/([^/]+)/(stop|resume|save)",
                 [this](const httplib::Request& request, httplib::Response& response) {
                   const absl::Status status =
                       hooks_.act(request.matches[1], request.matches[2], request.matches[3]);
                   status.ok() ? Answer(response, 200, Json::object())
                               : AnswerError(response, status);
                 });
  }

  const WebHooks hooks_;
  httplib::Server server_;
  std::thread thread_;
};

WebServer::WebServer(WebHooks hooks) : impl_(std::make_unique<Impl>(std::move(hooks))) {}
WebServer::~WebServer() { Stop(); }
absl::StatusOr<std::string> WebServer::Start(const std::string& address) {
  return impl_->Start(address);
}
void WebServer::Stop() { impl_->Stop(); }

}  // namespace muster::control
