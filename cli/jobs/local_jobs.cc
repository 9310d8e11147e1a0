#include "cli/jobs/local_jobs.h"

#include <unistd.h>

#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/json_fields.h"
#include "base/net/unix_socket.h"
#include "base/object_store/object_uri.h"
#include "base/process/process.h"
#include "base/status_macros.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::cli {
namespace {

constexpr size_t kMostToken = 64 << 10;

}  // namespace

std::optional<LiveOperator> FindLiveOperator(Files& files, const JobPaths& paths) {
  const absl::StatusOr<std::string> text = ReadFile(files, paths.operator_file(), 4096);
  if (!text.ok()) return std::nullopt;
  const absl::StatusOr<Json> json = ParseJson(*text);
  if (!json.ok()) return std::nullopt;
  const std::optional<int64_t> pid = IntegerField(*json, "pid");
  const std::optional<int64_t> started = IntegerField(*json, "started");
  if (!pid.has_value() || !started.has_value()) return std::nullopt;
  // The pid may belong to another process by now; the start time shows that.
  const auto start_time = ProcessStartTime(static_cast<pid_t>(*pid));
  if (!start_time.ok() || static_cast<int64_t>(*start_time) != *started) {
    return std::nullopt;
  }
  LiveOperator live;
  live.pid = static_cast<int>(*pid);
  live.http = StringField(*json, "http");
  // A unix socket requires no token.
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

absl::StatusOr<LocalObjects> ReadObjects(const JobPaths& paths) {
  kube::MemoryApiOptions options;
  options.directory = paths.api();
  options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
  MUSTER_ASSIGN_OR_RETURN(const auto api,
                          kube::MemoryApi::OpenReadOnly(Clock::Real(), std::move(options)));
  MUSTER_ASSIGN_OR_RETURN(const kube::ObjectList jobs, api->List(kube::kTrainingJobs, {}));
  if (jobs.items.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no job '", paths.job, "': ", paths.folder(),
                                            " exists, but no job was written to it"));
  }
  LocalObjects objects;
  MUSTER_ASSIGN_OR_RETURN(objects.job, control::ParseTrainingJob(jobs.items[0]));
  MUSTER_ASSIGN_OR_RETURN(kube::ObjectList pods, api->List(kube::kPods, {}));
  objects.pods = std::move(pods.items);
  MUSTER_ASSIGN_OR_RETURN(kube::ObjectList events, api->List(kube::kEvents, {}));
  objects.events = std::move(events.items);
  return objects;
}

absl::StatusOr<control::TrainingJob> ReadJob(const JobPaths& paths) {
  MUSTER_ASSIGN_OR_RETURN(LocalObjects objects, ReadObjects(paths));
  return std::move(objects.job);
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

absl::StatusOr<std::vector<JobPaths>> RunningJobs(Files& files, const std::string& root) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, LocalJobs(files, root));
  std::vector<JobPaths> running;
  for (const std::string& job : jobs) {
    if (FindLiveOperator(files, {root, job})) running.push_back({root, job});
  }
  return running;
}

namespace {

absl::StatusOr<JobPaths> TheOnlyJob(Files& files, const std::string& root,
                                    const std::vector<std::string>& jobs,
                                    absl::string_view to_choose) {
  if (jobs.size() == 1) return JobPaths{root, jobs[0]};
  if (jobs.empty()) return absl::NotFoundError(Known(jobs, root));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<JobPaths> running, RunningJobs(files, root));
  if (running.size() == 1) return running.front();
  if (running.empty()) {
    return absl::NotFoundError(absl::StrCat(to_choose, "; ", Known(jobs, root)));
  }
  const std::string names = absl::StrJoin(
      running, ", ", [](std::string* out, const JobPaths& paths) { out->append(paths.job); });
  return absl::NotFoundError(
      absl::StrCat(to_choose, "; several run now: ", names, " (in ", root, ")"));
}

}  // namespace

absl::StatusOr<JobPaths> FindJob(Files& files, const std::string& root, const std::string& name,
                                 absl::string_view to_choose) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, LocalJobs(files, root));
  if (name.empty()) return TheOnlyJob(files, root, jobs, to_choose);
  for (const std::string& job : jobs) {
    if (job == name) return JobPaths{root, job};
  }
  return absl::NotFoundError(absl::StrCat("there is no job '", name, "'; ", Known(jobs, root)));
}

namespace {

// A directory of a job may be missing until it first saves. One that is named must be there.
absl::StatusOr<CheckpointPlace> GivenDirectory(const std::string& directory) {
  if (directory.empty()) return absl::InvalidArgumentError("--dir: there is no name");
  MUSTER_ASSIGN_OR_RETURN(CheckpointPlace place, PlaceOf(directory));
  if (IsObjectUri(place.uri)) return place;
  MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<Files> files, OpenPlace(place));
  const auto found = files->Stat(place.uri);
  if (absl::IsNotFound(found.status())) {
    return absl::NotFoundError(absl::StrCat("--dir: there is no directory ", place.uri));
  }
  MUSTER_RETURN_IF_ERROR(found.status());
  if (found->kind == FileKind::kDirectory) return place;
  return absl::InvalidArgumentError(absl::StrCat("--dir: ", place.uri, " is no directory"));
}

}  // namespace

absl::StatusOr<CheckpointPlace> CheckpointDirectory(const Flags& flags, const std::string& job) {
  if (flags.Has("dir")) return GivenDirectory(flags.Get("dir", ""));
  MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
  MUSTER_ASSIGN_OR_RETURN(const JobPaths paths, FindJob(FileSystem(), root, job));
  MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob found, ReadJob(paths));
  if (!found.spec.has_checkpoint()) {
    return absl::NotFoundError(
        absl::StrCat("job ", found.name, " saves no checkpoints: it has no spec.checkpoint"));
  }
  return PlaceOf(found);
}

}  // namespace muster::cli
