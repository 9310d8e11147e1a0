#include "cli/local_jobs.h"

#include <unistd.h>

#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "base/unix_socket.h"
#include "httplib.h"
#include "operator/coordinator/certificate_authority.h"
#include "operator/kube/credentials.h"
#include "operator/kube/memory_api.h"
#include "operator/kube/rest_config.h"
#include "operator/kube/server_url.h"
#include "operator/kube/tls_client.h"
#include "operator/web/http_client.h"

namespace muster::cli {
namespace {

constexpr size_t kMostToken = 64 << 10;
constexpr size_t kMostPem = 1 << 20;

}  // namespace

std::optional<LiveOperator> FindLiveOperator(Files& files, const JobPaths& paths) {
  const absl::StatusOr<std::string> text = ReadFile(files, paths.operator_file(), 4096);
  if (!text.ok()) return std::nullopt;
  const absl::StatusOr<Json> json = ParseJson(*text);
  if (!json.ok() || !json->is_object()) return std::nullopt;
  const Json pid = json->value("pid", Json()), started = json->value("started", Json());
  if (!pid.is_number_integer() || !started.is_number_integer()) return std::nullopt;
  // A pid may be taken by another process by now; its start time tells.
  const auto start_time = ProcessStartTime(pid.get<int>());
  if (!start_time.ok() || static_cast<int64_t>(*start_time) != started.get<int64_t>()) {
    return std::nullopt;
  }
  LiveOperator live;
  live.pid = pid.get<int>();
  live.http = json->value("http", std::string());
  // Over a socket of its own nobody is asked for a token.
  if (!IsUnixAddress(live.http)) {
    live.token = ReadFile(files, paths.http_token(), kMostToken).value_or("");
  }
  return live;
}

absl::Status WriteLiveOperator(Files& files, const JobPaths& paths, const std::string& http) {
  MUSTER_ASSIGN_OR_RETURN(const auto started, ProcessStartTime(getpid()));
  const Json json = {{"pid", getpid()}, {"started", static_cast<int64_t>(started)}, {"http", http}};
  return WriteFileAtomically(files, paths.operator_file(), DumpJson(json));
}

absl::StatusOr<control::TrainingJob> ReadJob(const JobPaths& paths) {
  kube::MemoryApiOptions options;
  options.directory = paths.api();
  options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
  MUSTER_ASSIGN_OR_RETURN(const auto api,
                          kube::MemoryApi::OpenReadOnly(Clock::Real(), std::move(options)));
  MUSTER_ASSIGN_OR_RETURN(const kube::ObjectList list, api->List(kube::kTrainingJobs, {}));
  if (list.items.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no job '", paths.job, "': ", paths.folder(),
                                            " is there, but no job was written to it"));
  }
  return control::ParseTrainingJob(list.items[0]);
}

namespace {

std::string Known(const std::vector<std::string>& jobs, const std::string& root) {
  return jobs.empty() ? absl::StrCat("there are no jobs in ", root)
                      : absl::StrCat("there are: ", absl::StrJoin(jobs, ", "), " (in ", root, ")");
}

}  // namespace

absl::StatusOr<JobPaths> NamedJob(Files& files, const std::string& root,
                                  const std::vector<std::string>& positional) {
  if (positional.size() == 1) return FindJob(files, root, positional[0]);
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, LocalJobs(files, root));
  return absl::NotFoundError(absl::StrCat("name one job; ", Known(jobs, root)));
}

absl::StatusOr<JobPaths> FindJob(Files& files, const std::string& root, const std::string& name) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, LocalJobs(files, root));
  const std::string known = Known(jobs, root);
  if (name.empty() && jobs.size() == 1) return JobPaths{root, jobs[0]};
  if (name.empty()) {
    std::vector<JobPaths> running;
    for (const std::string& job : jobs) {
      if (FindLiveOperator(files, {root, job})) running.push_back({root, job});
    }
    if (running.size() == 1) return running.front();
    return absl::NotFoundError(absl::StrCat("name a job; ", known));
  }
  for (const std::string& job : jobs) {
    if (job == name) return JobPaths{root, job};
  }
  return absl::NotFoundError(absl::StrCat("there is no job '", name, "'; ", known));
}

std::vector<FlagSpec> ServerFlags() {
  return {{"server",
           "the operator's HTTP address: https://HOST:PORT of a cluster, or unix:/PATH or "
           "http://HOST:PORT of this machine"},
          {"token-file", "with --server: a file with the token to show"},
          {"ca-file", "with --server: the authority to trust, PEM; default those of the machine"},
          {"server-name",
           "with --server: what its certificate is for; default muster-coordinator with --ca-file, "
           "else its host"}};
}

absl::StatusOr<LiveOperator> ServerAt(Files& files, const Flags& flags) {
  const std::string address = flags.Get("server", "");
  LiveOperator live;
  live.tls = absl::StartsWith(address, "https://");
  if (!live.tls && !absl::StartsWith(address, "http://") && absl::StrContains(address, "://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server: ", address,
                     " is no address of an operator: give https://HOST:PORT of a cluster, or "
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

// Asks by a client over TCP or over a socket: they share no base class.
template <typename Client>
httplib::Result Ask(Client& client, const LiveOperator& live, const std::string& method,
                    const std::string& path, const std::string& body) {
  client.set_connection_timeout(2);
  client.set_read_timeout(10);
  httplib::Headers headers;
  if (!live.token.empty()) headers.emplace("Authorization", "Bearer " + live.token);
  if (method != "POST") return client.Get(path.c_str(), headers);
  return client.Post(path.c_str(), headers, body, "application/json");
}

}  // namespace

absl::StatusOr<Json> CallOperator(const LiveOperator& live, const std::string& method,
                                  const std::string& path, const std::string& body) {
  httplib::Result result(nullptr, httplib::Error::Unknown);
  std::string trouble;
  if (live.tls) {
    MUSTER_ASSIGN_OR_RETURN(const auto client, TlsClientOf(live));
    result = Ask(*client, live, method, path, body);
    if (!result) trouble = kube::ConnectFailure(*client, result.error());
  } else {
    result = Ask(*control::MakeHttpClient(live.http), live, method, path, body);
    if (!result && result.error() == httplib::Error::Connection) trouble = "no connection";
  }
  if (!result) {
    return absl::UnavailableError(absl::StrCat(
        "the operator at ", live.http, live.pid > 0 ? absl::StrCat(" (pid ", live.pid, ")") : "",
        " does not answer: ", trouble.empty() ? httplib::to_string(result.error()) : trouble));
  }
  absl::StatusOr<Json> json = ParseJson(result->body);
  if (result->status >= 200 && result->status < 300) return json;
  const std::string message =
      json.ok() && json->is_object() ? json->value("error", result->body) : result->body;
  const absl::StatusCode code = result->status == 404   ? absl::StatusCode::kNotFound
                                : result->status == 400 ? absl::StatusCode::kInvalidArgument
                                                        : absl::StatusCode::kFailedPrecondition;
  return absl::Status(code, absl::StrCat("the operator answered ", result->status, " to ", method,
                                         " ", path, ": ", message));
}

}  // namespace muster::cli
