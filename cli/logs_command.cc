// `muster logs`: prints the output of the workers and their ranks.

#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/exit_codes.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/local_jobs.h"

namespace muster::cli {
namespace {

struct Selection {
  std::optional<int64_t> worker;  // nullopt: all
  std::optional<int64_t> rank;    // nullopt: all
};

// Returns the number that a flag gives, which counts from 0.
absl::StatusOr<std::optional<int64_t>> IndexFlag(const Flags& flags, const char* name) {
  if (!flags.Has(name)) return std::nullopt;
  MUSTER_ASSIGN_OR_RETURN(const int64_t index, flags.GetInt(name, 0));
  if (index >= 0) return index;
  return absl::InvalidArgumentError(absl::StrCat("--", name, ": want a number from 0 on"));
}

// Returns the number at the end of `name` after `prefix`; nullopt if it has another form.
std::optional<int64_t> NumberAfter(absl::string_view name, absl::string_view prefix) {
  int64_t number = 0;
  if (!absl::ConsumePrefix(&name, prefix) || !absl::SimpleAtoi(name, &number)) return std::nullopt;
  return number;
}

// Returns the worker's index in a pod's name <job>-<index>-<incarnation>.
std::optional<int64_t> WorkerOf(const std::string& job, const std::string& pod) {
  const size_t last = pod.rfind('-');
  if (last == std::string::npos) return std::nullopt;
  return NumberAfter(pod.substr(0, last), absl::StrCat(job, "-"));
}

std::optional<int64_t> RankOf(absl::string_view file) {
  if (!absl::ConsumeSuffix(&file, ".log")) return std::nullopt;
  return NumberAfter(file, "rank-");
}

std::string Listed(const std::set<int64_t>& numbers) {
  return numbers.empty() ? "none" : absl::StrJoin(numbers, ", ");
}

// Prints the growth of files since the last call; tracks each by name and offset.
class Tailer {
 public:
  Tailer(const JobPaths& paths, Selection selection) : paths_(paths), selection_(selection) {}

  absl::Status RunOnce() {
    MUSTER_ASSIGN_OR_RETURN(const auto pods, FileSystem().List(paths_.pods()));
    for (const DirectoryEntry& pod : pods) {
      const std::optional<int64_t> worker = WorkerOf(paths_.job, pod.name);
      if (pod.kind != FileKind::kDirectory || !worker) continue;
      workers_.insert(*worker);
      if (selection_.worker && selection_.worker != worker) continue;
      MUSTER_RETURN_IF_ERROR(PrintPod(pod.name));
    }
    std::fflush(stdout);
    return absl::OkStatus();
  }

  // NotFound if there are logs, and none of them is of the worker and rank that were asked for.
  absl::Status CheckFound() const {
    if (selection_.worker && !workers_.empty() && workers_.count(*selection_.worker) == 0) {
      return absl::NotFoundError(absl::StrCat("job ", paths_.job, " has no log of worker ",
                                              *selection_.worker,
                                              "; there are those of: ", Listed(workers_)));
    }
    if (selection_.rank && !workers_.empty() && ranks_.count(*selection_.rank) == 0) {
      return absl::NotFoundError(absl::StrCat(
          "job ", paths_.job, " has no log of rank ", *selection_.rank,
          selection_.worker ? absl::StrCat(" on worker ", *selection_.worker) : std::string(),
          "; there are those of: ", Listed(ranks_)));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status PrintPod(const std::string& pod) {
    const std::string logs = JoinPath(JoinPath(paths_.pods(), pod), "logs");
    const auto files = FileSystem().List(logs);
    if (absl::IsNotFound(files.status())) return absl::OkStatus();
    MUSTER_RETURN_IF_ERROR(files.status());
    for (const DirectoryEntry& file : *files) {
      const std::optional<int64_t> rank = RankOf(file.name);
      if (file.kind != FileKind::kFile || !absl::StartsWith(file.name, "rank-")) continue;
      if (rank) ranks_.insert(*rank);
      if (selection_.rank && selection_.rank != rank) continue;
      MUSTER_RETURN_IF_ERROR(PrintNew(JoinPath(logs, file.name), pod, file.name));
    }
    return absl::OkStatus();
  }

  absl::Status PrintNew(const std::string& path, const std::string& pod, const std::string& file) {
    MUSTER_ASSIGN_OR_RETURN(const auto opened, FileSystem().Open(path));
    uint64_t& offset = offsets_[path];
    if (opened->size() < offset) offset = 0;  // rotated
    if (opened->size() == offset) return absl::OkStatus();
    std::string bytes(opened->size() - offset, '\0');
    MUSTER_RETURN_IF_ERROR(opened->Read(offset, bytes.data(), bytes.size()));
    if (path != last_path_) std::printf("==> %s/%s\n", pod.c_str(), file.c_str());
    last_path_ = path;
    offset += bytes.size();
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return absl::OkStatus();
  }

  const JobPaths paths_;
  const Selection selection_;
  std::set<int64_t> workers_, ranks_;  // those that have logs; ranks of the selected workers
  std::map<std::string, uint64_t> offsets_;
  std::string last_path_;
};

}  // namespace

std::vector<FlagSpec> LogsFlags() {
  return {{"state-dir", "where jobs keep their state"},
          {"worker", "only this worker's index"},
          {"rank", "only this rank"},
          {"follow", "go on printing", /*is_switch=*/true}};
}

int LogsMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, LogsFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const auto name = flags->OnePositional();
  if (!name.ok()) return Fail(name.status());
  const auto paths = FindJob(FileSystem(), *root, *name);
  if (!paths.ok()) return Fail(paths.status());
  // Logs are worth printing whatever other error the job has.
  if (const auto job = ReadJob(*paths); absl::IsNotFound(job.status())) return Fail(job.status());
  const auto worker = IndexFlag(*flags, "worker");
  if (!worker.ok()) return Fail(worker.status());
  const auto rank = IndexFlag(*flags, "rank");
  if (!rank.ok()) return Fail(rank.status());
  Tailer tailer(*paths, {*worker, *rank});
  while (true) {
    if (const absl::Status status = tailer.RunOnce(); !status.ok()) return Fail(status);
    // While the job runs, a log that is followed may still come.
    const bool may_come =
        flags->Has("follow") && FindLiveOperator(FileSystem(), *paths).has_value();
    const absl::Status found = may_come ? absl::OkStatus() : tailer.CheckFound();
    if (!found.ok()) return Fail(found);
    if (!flags->Has("follow")) return kExitOk;
    poll(nullptr, 0, 200);
  }
}

}  // namespace muster::cli
