#include "operator/web/routes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/metrics/exposition.h"
#include "operator/web/debug_page.h"
#include "operator/web/job_actions.h"
#include "operator/web/pages.h"
#include "operator/web/placement_page.h"

namespace muster::control {
namespace {

constexpr char kPlainType[] = "text/plain; charset=utf-8";
constexpr size_t kMaxSteps = 4096;
constexpr int64_t kMaxDepth = 32;
// The number of jobs of each queue.
constexpr int64_t kJobsPerQueue = 100;
constexpr int64_t kMostQueueJobs = 10000;

int HttpCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

HttpResponse Answer(const absl::StatusOr<Json>& json) {
  if (!json.ok()) return AnswerError(json.status());
  HttpResponse response;
  response.body = DumpJson(*json, 2) + "\n";
  return response;
}

HttpResponse NothingHere(const HttpRequest& request) {
  return ErrorResponse(404,
                       absl::StrCat("there is nothing here: ", request.method, " ", request.path));
}

absl::Status ReadNumber(const HttpRequest& request, const char* name, int64_t least,
                        int64_t& value) {
  if (!request.Has(name)) return absl::OkStatus();
  const std::string text = request.Parameter(name);
  if (absl::SimpleAtoi(text, &value) && value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=", text, ": must be a whole number, at least ", least));
}

absl::StatusOr<Json> GetJob(const WebDeps& deps, const kube::ObjectKey& key,
                            const HttpRequest& request) {
  JobQuery query;
  int64_t limit = static_cast<int64_t>(query.limit);
  if (absl::Status status = ReadNumber(request, "since", -1, query.since); !status.ok()) {
    return status;
  }
  if (absl::Status status = ReadNumber(request, "limit", 0, limit); !status.ok()) return status;
  query.limit = std::min(static_cast<size_t>(limit), kMaxSteps);
  query.curve = request.Has("curve") && request.Parameter("curve") != "0";
  return JobPage(deps, key, query);
}

absl::StatusOr<Json> GetDebug(const WebDeps& deps, const HttpRequest& request) {
  DebugQuery query;
  if (absl::Status status = ReadNumber(request, "limit", 1, query.limit); !status.ok()) {
    return status;
  }
  query.job = request.Parameter("job");
  query.after = request.Parameter("after");
  return DebugPage(deps, query);
}

absl::StatusOr<Json> GetTopology(const WebDeps& deps, const HttpRequest& request) {
  int64_t depth = kMaxDepth;
  if (absl::Status status = ReadNumber(request, "depth", 0, depth); !status.ok()) return status;
  return TopologyPage(deps.scheduler, static_cast<int>(std::min(depth, kMaxDepth)));
}

absl::StatusOr<Json> GetQueues(const WebDeps& deps, const std::string& queue,
                               const HttpRequest& request) {
  int64_t limit = kJobsPerQueue;
  if (absl::Status status = ReadNumber(request, "limit", 0, limit); !status.ok()) return status;
  return QueuePage(deps, queue, static_cast<int>(std::min(limit, kMostQueueJobs)));
}

// On a cluster the operator takes no commands: says how the caller writes the job.
absl::Status RefusedOnCluster(const kube::ObjectKey& key, const std::string& verb) {
  if (verb == "tune") {
    return absl::PermissionDeniedError(
        absl::StrCat("on a cluster, change the TrainingJob itself: kubectl muster tune ", key.name,
                     " --namespace=", key.name_space, " learningRate=1e-4"));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "on a cluster, change the TrainingJob itself: kubectl patch trainingjob ", key.name,
      " --namespace=", key.name_space, R"( --type=merge --patch='{"spec":{"suspend":true}}')"));
}

absl::StatusOr<Json> PostJob(const WebDeps& deps, Commands commands, const kube::ObjectKey& key,
                             const std::string& verb, const std::string& body) {
  if (verb != "stop" && verb != "resume" && verb != "save" && verb != "tune") {
    return absl::NotFoundError(
        absl::StrCat("a job has no action '", verb, "'; there are stop, resume, save and tune"));
  }
  if (commands == Commands::kRefused) return RefusedOnCluster(key, verb);
  if (verb == "save") return SaveNow(deps, key);
  if (verb == "tune") return TuneJob(deps, key, body);
  return SetSuspended(deps, key, verb == "stop");
}

HttpResponse AnswerMetrics(const WebDeps& deps, const HttpRequest& request) {
  const bool open = WantsOpenMetrics(request.accept);
  HttpResponse response;
  response.body = MetricsPage(deps, open);
  response.content_type = open ? kOpenMetricsFormat : kTextFormat;
  return response;
}

bool IsUnder(const std::vector<std::string>& path, const char* collection) {
  return path.size() >= 3 && path[0] == "api" && path[1] == "v1" && path[2] == collection;
}

// Answers paths below /api/v1/jobs.
HttpResponse AnswerJobs(const WebDeps& deps, Commands commands, const HttpRequest& request,
                        const std::vector<std::string>& path) {
  const bool post = request.method == "POST";
  if (path.size() == 3 && !post) return Answer(JobList(deps));
  if (path.size() < 5 || path[3].empty() || path[4].empty()) return NothingHere(request);
  const kube::ObjectKey key{path[3], path[4]};
  if (path.size() == 5 && !post) return Answer(GetJob(deps, key, request));
  if (path.size() != 6 || path[5].empty()) return NothingHere(request);
  if (post) return Answer(PostJob(deps, commands, key, path[5], request.body));
  return path[5] == "placement" ? Answer(PlacementPage(deps, key)) : NothingHere(request);
}

// A job that has been worked on for this long fails the liveness, since every call of a reconcile
// has a deadline.
constexpr absl::Duration kStuck = absl::Minutes(10);

// A check of /livez or /readyz; the answer is formatted as by kube-apiserver.
struct HealthCheck {
  std::string name;
  std::string trouble;  // empty: fine
};

HealthCheck LeaseCheck(const WebDeps& deps) {
  const std::string lost = deps.leader ? deps.leader().lost : "";
  return {"leader-election", lost.empty() ? "" : "the lease was lost: " + lost};
}

// Liveness: whether the process may keep running.
std::vector<HealthCheck> LivenessChecks(const WebDeps& deps) {
  const absl::Duration longest = deps.queue.stats().longest_running;
  std::string trouble;
  if (longest >= kStuck) {
    trouble = absl::StrCat("a job has been worked on for ", absl::FormatDuration(longest));
  }
  return {{"ping", ""}, {"work-queue", trouble}, LeaseCheck(deps)};
}

// Readiness: the caches have synced and the lease is not lost. A standby is ready.
std::vector<HealthCheck> ReadinessChecks(const WebDeps& deps) {
  const bool synced = !deps.ready || deps.ready();
  return {{"ping", ""},
          {"caches-synced", synced ? "" : "the caches have not synced"},
          LeaseCheck(deps)};
}

struct HealthPage {
  bool healthy = false;
  std::string text;
};

// Returns "ok", or one line per check if one failed or if `verbose`.
HealthPage RenderHealth(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                        bool verbose) {
  HealthPage page{true, ""};
  for (const HealthCheck& check : checks) {
    if (check.trouble.empty()) {
      absl::StrAppend(&page.text, "[+]", check.name, " ok\n");
    } else {
      absl::StrAppend(&page.text, "[-]", check.name, " failed: ", check.trouble, "\n");
      page.healthy = false;
    }
  }
  if (page.healthy && !verbose) return {true, "ok\n"};
  absl::StrAppend(&page.text, endpoint, " check ", page.healthy ? "passed" : "failed", "\n");
  return page;
}

}  // namespace

HttpResponse AnswerError(const absl::Status& status) {
  HttpResponse response = ErrorResponse(HttpCode(status), status.message());
  if (response.status == 401) response.headers = {{"WWW-Authenticate", "Bearer"}};
  return response;
}

std::optional<HttpResponse> AnswerHealth(const WebDeps& deps, const HttpRequest& request) {
  const bool ready = request.path == "/readyz";
  if (request.method == "POST") return std::nullopt;
  if (!ready && request.path != "/livez" && request.path != "/healthz") return std::nullopt;
  const HealthPage page =
      RenderHealth(request.path.substr(1), ready ? ReadinessChecks(deps) : LivenessChecks(deps),
                   request.Has("verbose"));
  HttpResponse response;
  response.status = page.healthy ? 200 : 503;
  response.content_type = kPlainType;
  response.body = page.text;
  return response;
}

HttpResponse AnswerRequest(const WebDeps& deps, Commands commands, const HttpRequest& request) {
  if (auto health = AnswerHealth(deps, request)) return *std::move(health);
  const std::vector<std::string> path = SegmentsOf(request.path);
  if (IsUnder(path, "jobs")) return AnswerJobs(deps, commands, request, path);
  if (request.method == "POST") {
    const bool asks = IsUnder(path, "whatif") && path.size() == 3;
    return asks ? Answer(WhatIfPage(deps.scheduler, request.body, deps.containers))
                : NothingHere(request);
  }
  if (request.path == "/metrics") return AnswerMetrics(deps, request);
  if (request.path == "/debug/state") return Answer(GetDebug(deps, request));
  if (request.path == "/api/v1/topology") return Answer(GetTopology(deps, request));
  if (request.path == "/api/v1/queues") return Answer(GetQueues(deps, "", request));
  if (path.size() == 4 && !path[3].empty()) {
    if (IsUnder(path, "queues")) return Answer(GetQueues(deps, path[3], request));
    if (IsUnder(path, "decisions")) return Answer(DecisionPage(deps, path[3]));
  }
  return NothingHere(request);
}

}  // namespace muster::control
