#include "cli/job_removal.h"

#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/random_name.h"
#include "base/status_macros.h"
#include "cli/local_jobs.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/local/local_nodes.h"

namespace muster::cli {
namespace {

// The holder of the store runs the job, so nobody can start the job while this holds it.
absl::Status EndWorkers(Files& files, const JobPaths& paths) {
  kube::MemoryApiOptions options;
  options.directory = paths.api();
  options.random = [engine = std::mt19937_64(std::random_device{}())]() mutable {
    return engine();
  };
  const auto api = kube::MemoryApi::Open(Clock::Real(), std::move(options));
  if (absl::IsUnavailable(api.status())) {
    const auto live = FindLiveOperator(files, paths);
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", paths.job, " is running", live ? absl::StrCat(" (pid ", live->pid, ")") : "",
        "; stop it first: muster stop ", paths.job));
  }
  // A job with a damaged store is removed like any other: its workers are found by their folders.
  if (!api.ok() && !absl::IsDataLoss(api.status())) return api.status();
  const auto empty = kube::MemoryApi::Open(Clock::Real(), {});
  MUSTER_RETURN_IF_ERROR(empty.status());
  control::LocalNodesOptions nodes;
  nodes.nodes = {{.name = "local"}};
  nodes.state_dir = paths.folder();
  control::LocalNodes workers(std::move(nodes), api.ok() ? **api : **empty, ProcessLauncher::Real(),
                              Clock::Real());
  MUSTER_RETURN_IF_ERROR(workers.Register());
  workers.StopAll(absl::ZeroDuration());
  return absl::OkStatus();
}

// One that is superseded would count again without the one that supersedes it.
absl::StatusOr<std::string> MarkCheckpointsAbandoned(Files& files, const std::string& directory) {
  MUSTER_ASSIGN_OR_RETURN(const auto listings, ListCheckpoints(files, directory));
  bool any = false;
  for (const CheckpointListing& listing : listings) {
    if (!listing.complete && !listing.superseded) continue;
    any = true;
    MUSTER_RETURN_IF_ERROR(MarkAbandoned(files, JoinPath(directory, listing.directory), listing));
  }
  return any ? directory : "";
}

}  // namespace

absl::StatusOr<std::string> SetCheckpointsAside(Files& files, const std::string& directory) {
  if (files.IsObjectStore()) return MarkCheckpointsAbandoned(files, directory);
  const auto entries = files.List(directory);
  if (absl::IsNotFound(entries.status())) return std::string();
  MUSTER_RETURN_IF_ERROR(entries.status());
  std::string aside;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind != FileKind::kDirectory || !absl::StartsWith(entry.name, "step-")) continue;
    if (aside.empty()) {
      aside = JoinPath(directory, AbandonedName(RandomName()));
      MUSTER_RETURN_IF_ERROR(files.MakeDirectories(aside));
    }
    MUSTER_RETURN_IF_ERROR(
        files.Rename(JoinPath(directory, entry.name), JoinPath(aside, entry.name)));
  }
  if (!aside.empty()) MUSTER_RETURN_IF_ERROR(files.SyncDirectory(directory));
  return aside;
}

absl::Status RemoveJob(Files& files, const JobPaths& paths) {
  MUSTER_RETURN_IF_ERROR(EndWorkers(files, paths));
  MUSTER_RETURN_IF_ERROR(SetCheckpointsAside(files, paths.checkpoints()).status());
  MUSTER_ASSIGN_OR_RETURN(const auto entries, files.List(paths.folder()));
  const std::string kept = BaseName(paths.checkpoints());
  for (const DirectoryEntry& entry : entries) {
    if (entry.name == kept) continue;
    MUSTER_RETURN_IF_ERROR(RemoveAll(files, JoinPath(paths.folder(), entry.name)));
  }
  // The folder stays if it still holds checkpoints.
  if (!Exists(files, paths.checkpoints())) return RemoveAll(files, paths.folder());
  return absl::OkStatus();
}

}  // namespace muster::cli
