#include "cli/jobs/operator_client.h"

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json_fields.h"
#include "base/status_macros.h"
#include "httplib.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/kube/credentials/credentials.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/http/server_url.h"
#include "operator/kube/rest/tls_client.h"
#include "operator/web/http/http_client.h"

namespace muster::cli {
namespace {

constexpr size_t kMostToken = 64 << 10;
constexpr size_t kMostPem = 1 << 20;
constexpr size_t kMostAnswer = 64 << 20;

}  // namespace

std::vector<FlagSpec> ServerFlags() {
  return {{"server",
           "the operator's HTTP address: https://HOST:PORT of a cluster, or unix:/PATH or "
           "http://HOST:PORT of this machine"},
          {"token-file", "with --server: a file with the token to send"},
          {"ca-file", "with --server: the authority to trust, PEM; default those of the machine"},
          {"server-name",
           "with --server: the name in its certificate; default muster-coordinator with --ca-file, "
           "else its host"}};
}

absl::StatusOr<LiveOperator> ServerAt(Files& files, const Flags& flags) {
  const std::string address = flags.Get("server", "");
  LiveOperator live;
  live.tls = absl::StartsWith(address, "https://");
  if (!live.tls && !absl::StartsWith(address, "http://") && absl::StrContains(address, "://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server: ", address,
                     " is not the address of an operator: give https://HOST:PORT of a cluster, or "
                     "unix:/PATH or http://HOST:PORT of this machine"));
  }
  live.http = std::string(live.tls ? address
                                   : absl::StripSuffix(absl::StripPrefix(address, "http://"), "/"));
  const std::string token = flags.Get("token-file", ""), ca = flags.Get("ca-file", "");
  if (!token.empty()) {
    MUSTER_ASSIGN_OR_RETURN(live.token, ReadFile(files, token, kMostToken));
    absl::StripAsciiWhitespace(&live.token);
  }
  if (!ca.empty()) {
    MUSTER_ASSIGN_OR_RETURN(live.ca, ReadFile(files, ca, kMostPem));
  }
  live.server_name = flags.Get("server-name", ca.empty() ? "" : control::kCoordinatorServerName);
  return live;
}

namespace {

absl::StatusOr<std::unique_ptr<httplib::SSLClient>> TlsClientOf(const LiveOperator& live) {
  MUSTER_ASSIGN_OR_RETURN(const kube::ServerUrl url, kube::ParseServerUrl(live.http));
  kube::RestConfig config;
  config.tls_server_name = live.server_name;
  kube::Credentials credentials;
  credentials.ca = live.ca;
  return kube::MakeTlsClient(config, url, credentials);
}

struct Answer {
  httplib::Result result;
  std::string body;
  std::string refused;  // why it was not read completely; empty if it was
};

// The body is read without decoding, up to the limit on its size.
httplib::Request RequestFor(const LiveOperator& live, const std::string& method,
                            const std::string& path, const std::string& body, Answer& answer) {
  httplib::Request request;
  request.method = method;
  request.path = path;
  if (!live.token.empty()) request.set_header("Authorization", "Bearer " + live.token);
  if (method == "POST") {
    request.body = body;
    request.set_header("Content-Type", "application/json");
  }
  request.response_handler = [&answer](const httplib::Response& head) {
    const std::string encoding = head.get_header_value("Content-Encoding");
    if (encoding.empty()) return true;
    answer.refused = absl::StrCat("its answer has the Content-Encoding ", encoding.substr(0, 32),
                                  ", which was not requested");
    return false;
  };
  request.content_receiver = [&answer](const char* data, size_t size, uint64_t, uint64_t) {
    if (size > kMostAnswer - answer.body.size()) {
      answer.refused = absl::StrCat("its answer is longer than ", kMostAnswer, " bytes");
      return false;
    }
    answer.body.append(data, size);
    return true;
  };
  return request;
}

// Sends the request by a client over TCP or over a socket, which share no base class.
template <typename Client>
void Ask(Client& client, const httplib::Request& request, Answer& answer) {
  client.set_connection_timeout(2);
  client.set_read_timeout(10);
  client.set_decompress(false);
  answer.result = client.send(request);
}

}  // namespace

absl::StatusOr<Json> CallOperator(const LiveOperator& live, const std::string& method,
                                  const std::string& path, const std::string& body) {
  Answer answer = {httplib::Result(nullptr, httplib::Error::Unknown)};
  const httplib::Request request = RequestFor(live, method, path, body, answer);
  std::string trouble;
  if (live.tls) {
    MUSTER_ASSIGN_OR_RETURN(const auto client, TlsClientOf(live));
    Ask(*client, request, answer);
    if (!answer.result) trouble = kube::ConnectFailure(*client, answer.result.error());
  } else {
    Ask(*control::MakeHttpClient(live.http), request, answer);
    if (answer.result.error() == httplib::Error::Connection) trouble = "no connection";
  }
  if (!answer.refused.empty()) trouble = answer.refused;
  if (!answer.result) {
    return absl::UnavailableError(absl::StrCat(
        "the operator at ", live.http, live.pid > 0 ? absl::StrCat(" (pid ", live.pid, ")") : "",
        " does not answer: ",
        trouble.empty() ? httplib::to_string(answer.result.error()) : trouble));
  }
  absl::StatusOr<Json> json = ParseJson(answer.body);
  const int status = answer.result->status;
  if (status >= 200 && status < 300) return json;
  const std::string error = json.ok() ? StringField(*json, "error") : "";
  const std::string& message = error.empty() ? answer.body : error;
  const absl::StatusCode code = status == 404   ? absl::StatusCode::kNotFound
                                : status == 400 ? absl::StatusCode::kInvalidArgument
                                                : absl::StatusCode::kFailedPrecondition;
  return absl::Status(code, absl::StrCat("the operator answered ", status, " to ", method, " ",
                                         path, ": ", message));
}

}  // namespace muster::cli
