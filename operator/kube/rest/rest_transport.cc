#include "operator/kube/rest/rest_transport.h"

#include <algorithm>
#include <csignal>
#include <mutex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/process/process.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/http/http_exchange.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/rest/rest_paths.h"
#include "operator/kube/rest/tls_client.h"

namespace muster::kube {
namespace {

// The shortest delay before a retry, even if the server asks for less.
constexpr absl::Duration kShortestWait = absl::Milliseconds(50);
// The longest timeout of a call: neither the server nor httplib accepts an infinite one.
constexpr absl::Duration kLongestCall = absl::Hours(1);

absl::Duration RetryAfter(const std::string& header) {
  int64_t seconds = 0;
  if (!absl::SimpleAtoi(header, &seconds) || seconds < 0) return absl::Seconds(1);
  return std::max<absl::Duration>(absl::Seconds(std::min<int64_t>(seconds, 3600)), kShortestWait);
}

// Returns true for a failed uid precondition: the server reports it as Invalid and names the field.
bool IsUidMismatch(const Json& status) {
  const Json* causes = Find(status, {"details", "causes"});
  if (causes == nullptr || !causes->is_array()) return false;
  return std::any_of(causes->begin(), causes->end(), [](const Json& cause) {
    return StringAt(cause, {"field"}) == "metadata.uid";
  });
}

// Returns true if etcd rejected an object as too large, which the server reports as an internal
// error.
bool IsTooLargeForStore(const std::string& message) {
  return message.find("etcdserver: request is too large") != std::string::npos ||
         message.find("trying to send message larger than max") != std::string::npos;
}

// Appends a header, unless its value contains a line break and could inject another header.
void PutHeader(std::string& head, absl::string_view name, absl::string_view value) {
  if (value.find_first_of("\r\n") != absl::string_view::npos) return;
  absl::StrAppend(&head, name, ": ", value, "\r\n");
}

// Returns the value of the Host header.
std::string HostOf(const std::string& name, int port) {
  const bool bare = name.find(':') == std::string::npos;
  const std::string host = bare ? name : absl::StrCat("[", name, "]");
  return port == 443 ? host : absl::StrCat(host, ":", port);
}

}  // namespace

absl::Status RefusalOf(int code, const std::string& body, const std::string& retry_after) {
  const absl::StatusOr<Json> json = IsProto(body) ? ReadProtoStatus(body) : ParseJson(body);
  const bool status = json.ok() && StringAt(*json, {"kind"}) == "Status";
  std::string message = status ? StringAt(*json, {"message"}) : Quoted(body);
  if (message.empty()) message = absl::StrCat("the server answered ", code);
  const std::string word = status ? StringAt(*json, {"reason"}) : "";
  if (code >= 200 && code < 400) {
    return ApiError(Reason::kServiceUnavailable, absl::StrCat("the server answered ", code,
                                                              ", which an API server does not do"));
  }
  Reason reason = ReasonFromKubernetes(word, code);
  if (status && reason == Reason::kInvalid && IsUidMismatch(*json)) reason = Reason::kConflict;
  if (reason == Reason::kInternalError && IsTooLargeForStore(message)) reason = Reason::kTooLarge;
  if (reason == Reason::kTooManyRequests) return TooManyRequests(message, RetryAfter(retry_after));
  return ApiError(reason, message);
}

std::string AcceptHeader(bool protobuf, bool metadata_only) {
  constexpr char kProtobuf[] = "application/vnd.kubernetes.protobuf";
  constexpr char kJson[] = "application/json";
  constexpr char kMetadata[] = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  std::string accept;
  if (protobuf && metadata_only) absl::StrAppend(&accept, kProtobuf, kMetadata, ", ");
  if (metadata_only) absl::StrAppend(&accept, kJson, kMetadata, ", ");
  if (protobuf && !metadata_only) absl::StrAppend(&accept, kProtobuf, ", ");
  return absl::StrCat(accept, kJson);
}

RestTransport::RestTransport(RestConfig config, ServerUrl server, RequestObserver* observer)
    : config_(std::move(config)),
      server_(std::move(server)),
      host_(HostOf(config_.tls_server_name.empty() ? server_.host : config_.tls_server_name,
                   server_.port)),
      observer_(observer),
      credentials_(config_, clock_, FileSystem(), ProcessLauncher::Real()),
      limiter_(config_.qps, config_.burst),
      pool_(std::max(1, config_.max_connections), clock_) {}

absl::StatusOr<std::unique_ptr<RestTransport>> RestTransport::Create(RestConfig config,
                                                                     RequestObserver* observer) {
  MUSTER_ASSIGN_OR_RETURN(ServerUrl server, ParseServerUrl(config.server));
  // OpenSSL writes to sockets that the server may have closed.
  static std::once_flag once;
  std::call_once(once, [] { std::signal(SIGPIPE, SIG_IGN); });
  std::unique_ptr<RestTransport> transport(
      new RestTransport(std::move(config), std::move(server), observer));
  if (transport->config_.exec.has_value()) return transport;
  MUSTER_ASSIGN_OR_RETURN(const Credentials credentials,
                          transport->credentials_.Get(absl::InfiniteFuture()));
  MUSTER_RETURN_IF_ERROR(
      MakeTlsClient(transport->config_, transport->server_, credentials).status());
  return transport;
}

void RestTransport::Observe(const RestRequest& request, int code, absl::Duration latency) const {
  if (observer_ != nullptr) observer_->Finished(request.verb, request.resource, code, latency);
}

absl::Status RestTransport::Throttle(absl::Time deadline) {
  const absl::Time now = clock_.Monotonic();
  const absl::Duration wait = limiter_.Take(now, deadline - now);
  if (wait <= absl::ZeroDuration()) return absl::OkStatus();
  if (now + wait > deadline) {
    return TooManyRequests("not sent: this client's own rate limit leaves no time for the call",
                           wait);
  }
  if (observer_ != nullptr) observer_->Throttled(wait);
  absl::SleepFor(wait);
  return absl::OkStatus();
}

void RestTransport::SetHeaders(httplib::Request& request, const Credentials& credentials) const {
  if (!request.has_header("Accept")) request.set_header("Accept", "application/json");
  request.set_header("User-Agent", config_.user_agent);
  if (!credentials.token.empty()) {
    request.set_header("Authorization", "Bearer " + credentials.token);
  }
}

bool RestTransport::WritesProtobuf(std::string_view resource) const {
  MutexLock lock(mu_);
  return config_.protobuf && json_only_.find(resource) == json_only_.end();
}

bool RestTransport::TurnToJson(RestRequest& request) {
  if (request.as_json == nullptr) return false;
  request.body = std::exchange(request.as_json, nullptr)();
  request.content_type = "application/json";
  MutexLock lock(mu_);
  json_only_.emplace(request.resource);
  return true;
}

absl::StatusOr<std::string> RestTransport::Call(RestRequest request, absl::Duration timeout) {
  const absl::Time deadline = clock_.Monotonic() + std::min(timeout, kLongestCall);
  bool refreshed = false;
  bool redialled = false;
  while (true) {
    if (clock_.Monotonic() >= deadline) {
      return ApiError(Reason::kTimeout, "the call's time ran out before it was made");
    }
    MUSTER_RETURN_IF_ERROR(Throttle(deadline));
    MUSTER_ASSIGN_OR_RETURN(Answer answer, Attempt(request, deadline));
    if (answer.stale && !redialled) {
      redialled = true;
      continue;
    }
    warnings_.Log(answer.warnings);
    if (answer.code >= 200 && answer.code < 300) return std::move(answer.body);
    if (answer.code == 415 && TurnToJson(request)) continue;
    absl::Status refusal = RefusalOf(answer.code, answer.body, answer.retry_after);
    if (answer.code == 401 && !refreshed && credentials_.Refuse()) {
      refreshed = true;
      continue;
    }
    const std::optional<absl::Duration> wait = RetryAfterOf(refusal);
    if (!wait.has_value() || clock_.Monotonic() + *wait >= deadline) return refusal;
    absl::SleepFor(*wait);
  }
}

absl::StatusOr<RestTransport::Answer> RestTransport::Attempt(const RestRequest& request,
                                                             absl::Time deadline) {
  MUSTER_ASSIGN_OR_RETURN(const Credentials credentials, credentials_.Get(deadline));
  const auto make = [&] { return MakeTlsClient(config_, server_, credentials); };
  MUSTER_ASSIGN_OR_RETURN(Connection connection,
                          pool_.Take(credentials.tls_generation, deadline, make));
  bool healthy = false;
  const absl::Time start = clock_.Monotonic();
  absl::StatusOr<Answer> answer = Exchange(request, credentials, connection, deadline, healthy);
  Observe(request, answer.ok() ? answer->code : 0, clock_.Monotonic() - start);
  pool_.Return(std::move(connection), healthy);
  return answer;
}

std::string RestTransport::HeadOf(const RestRequest& request, const Credentials& credentials,
                                  absl::Duration left) const {
  const char query = request.path.find('?') == std::string::npos ? '?' : '&';
  std::string head =
      absl::StrCat(request.method, " ", server_.prefix, request.path, absl::string_view(&query, 1),
                   "timeout=", GoDuration(left), " HTTP/1.1\r\n");
  PutHeader(head, "Host", host_);
  PutHeader(head, "Accept", AcceptHeader(request.protobuf, request.metadata_only));
  PutHeader(head, "User-Agent", config_.user_agent);
  if (config_.gzip) PutHeader(head, "Accept-Encoding", "gzip");
  if (!credentials.token.empty()) {
    PutHeader(head, "Authorization", absl::StrCat("Bearer ", credentials.token));
  }
  if (request.IsWrite()) {
    PutHeader(head, "Content-Type", request.content_type);
    PutHeader(head, "Content-Length", absl::StrCat(request.body.size()));
  }
  return head + "\r\n";
}

absl::StatusOr<RestTransport::Answer> RestTransport::Exchange(const RestRequest& request,
                                                              const Credentials& credentials,
                                                              Connection& connection,
                                                              absl::Time deadline, bool& healthy) {
  const auto left = [&] { return deadline - clock_.Monotonic(); };
  httplib::SSLClient& client = *connection.client;
  SetTimeouts(client, config_.connect_timeout, left());
  SetDeadline(client, deadline);
  Answer answer;
  bool too_large = false;
  absl::Status received;
  HttpAnswer http;
  http.receive = [&](std::string_view data) {
    if (clock_.Monotonic() > deadline) return false;
    if (request.receive && http.code < 300) {
      received = request.receive(data);
      return received.ok();
    }
    too_large = answer.body.size() + data.size() > config_.max_response_bytes;
    if (!too_large) answer.body.append(data);
    return !too_large;
  };
  httplib::Error error = httplib::Error::Success;
  // The request is built after connecting, so that the server's ?timeout= is the time left: it must
  // not work on a call that has ended here.
  const auto wanted = [&] {
    return HttpRequest{HeadOf(request, credentials, left()), request.body};
  };
  healthy = kube::Exchange(client, wanted, http, error);
  answer.code = http.code;
  answer.retry_after = std::move(http.retry_after);
  answer.warnings = std::move(http.warnings);
  if (healthy) return answer;
  MUSTER_RETURN_IF_ERROR(received);
  if (too_large) {
    return ApiError(Reason::kTooLarge, absl::StrCat("the server's answer is larger than ",
                                                    config_.max_response_bytes, " bytes"));
  }
  answer.stale =
      connection.reused && !request.IsWrite() && http.code == 0 && clock_.Monotonic() < deadline;
  if (answer.stale) return answer;
  return Broken(request, client, error, deadline);
}

absl::Status RestTransport::ConnectError(const httplib::SSLClient& client,
                                         httplib::Error error) const {
  const std::string why = ConnectFailure(client, error);
  if (why.empty()) return absl::OkStatus();
  return ApiError(Reason::kServiceUnavailable, absl::StrCat(config_.server, ": ", why));
}

absl::Status RestTransport::Broken(const RestRequest& request, const httplib::SSLClient& client,
                                   httplib::Error error, absl::Time deadline) const {
  MUSTER_RETURN_IF_ERROR(ConnectError(client, error));
  if (clock_.Monotonic() >= deadline) {
    return ApiError(Reason::kTimeout, absl::StrCat(config_.server, ": it did not answer in time"));
  }
  const std::string what = absl::StrCat(config_.server, ": the connection broke before the answer");
  if (!request.IsWrite()) return ApiError(Reason::kServiceUnavailable, what);
  return ApiError(Reason::kTimeout, what + "; the write may have happened");
}

absl::StatusOr<std::unique_ptr<httplib::SSLClient>> RestTransport::Dial(httplib::Request& request,
                                                                        absl::Time deadline) {
  MUSTER_RETURN_IF_ERROR(Throttle(deadline));
  MUSTER_ASSIGN_OR_RETURN(const Credentials credentials, credentials_.Get(deadline));
  SetHeaders(request, credentials);
  return MakeTlsClient(config_, server_, credentials);
}

}  // namespace muster::kube
