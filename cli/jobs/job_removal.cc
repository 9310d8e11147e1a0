#include "cli/jobs/job_removal.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/process/process.h"
#include "base/random_name.h"
#include "base/status_macros.h"
#include "cli/jobs/local_jobs.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/local/local_nodes.h"

namespace muster::cli {
namespace {

// A folder of the root that is no job.
constexpr char kMovedFolder[] = ".aside";

using Store = std::unique_ptr<kube::MemoryApi>;

// Opens the job's store, which also keeps others from starting the job meanwhile. Returns null if
// the store is damaged.
absl::StatusOr<Store> HoldStore(Files& files, const JobPaths& paths) {
  kube::MemoryApiOptions options;
  options.directory = paths.api();
  options.random = [engine = std::mt19937_64(std::random_device{}())]() mutable {
    return engine();
  };
  auto api = kube::MemoryApi::Open(Clock::Real(), std::move(options));
  if (absl::IsUnavailable(api.status())) {
    const auto live = FindLiveOperator(files, paths);
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", paths.job, " is running", live ? absl::StrCat(" (pid ", live->pid, ")") : "",
        "; stop it first: ", paths.Hint("stop")));
  }
  // A job with a damaged store is removed like any other: its workers are found by their folders.
  if (absl::IsDataLoss(api.status())) return Store();
  return api;
}

absl::Status EndWorkers(const JobPaths& paths, const Store& store) {
  MUSTER_ASSIGN_OR_RETURN(const Store empty, kube::MemoryApi::Open(Clock::Real(), {}));
  control::LocalNodesOptions nodes;
  nodes.nodes = {{.name = "local"}};
  nodes.state_dir = paths.folder();
  control::LocalNodes workers(std::move(nodes), store != nullptr ? *store : *empty,
                              ProcessLauncher::Real(), Clock::Real());
  MUSTER_RETURN_IF_ERROR(workers.Register());
  workers.StopAll(absl::ZeroDuration());
  return absl::OkStatus();
}

// The newest comes last, so that a job goes on from it wherever this breaks off. One that is
// superseded would count again without the one that supersedes it.
absl::Status MarkAll(Files& files, const std::string& directory, AsideCheckpoints& aside) {
  MUSTER_ASSIGN_OR_RETURN(const auto listings, ListCheckpoints(files, directory));
  for (auto listing = listings.rbegin(); listing != listings.rend(); ++listing) {
    if (!listing->complete && !listing->superseded) continue;
    aside.where = directory;
    aside.names.push_back(listing->directory);
    MUSTER_RETURN_IF_ERROR(MarkAbandoned(files, JoinPath(directory, listing->directory), *listing));
  }
  return absl::OkStatus();
}

absl::Status MoveAll(Files& files, const std::string& directory, AsideCheckpoints& aside) {
  const auto entries = files.List(directory);
  if (absl::IsNotFound(entries.status())) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(entries.status());
  for (const DirectoryEntry& entry : *entries) {  // by name, so that the newest comes last
    if (entry.kind != FileKind::kDirectory || !absl::StartsWith(entry.name, "step-")) continue;
    if (aside.where.empty()) {
      aside.where = JoinPath(directory, AbandonedName(RandomName()));
      MUSTER_RETURN_IF_ERROR(files.MakeDirectories(aside.where));
    }
    MUSTER_RETURN_IF_ERROR(
        files.Rename(JoinPath(directory, entry.name), JoinPath(aside.where, entry.name)));
    aside.names.push_back(entry.name);
  }
  return aside.where.empty() ? absl::OkStatus() : files.SyncDirectory(directory);
}

// Moves a folder of checkpoints, or those that were set aside in it to another one.
absl::Status MoveCheckpoints(Files& files, const std::string& from, const std::string& to) {
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(ParentPath(to)));
  if (!Exists(files, to)) return files.Rename(from, to);
  MUSTER_ASSIGN_OR_RETURN(const auto entries, files.List(from));
  for (const DirectoryEntry& entry : entries) {
    if (!IsAbandonedName(entry.name)) continue;
    MUSTER_RETURN_IF_ERROR(files.Rename(JoinPath(from, entry.name), JoinPath(to, entry.name)));
  }
  return files.SyncDirectory(to);
}

bool HoldsCheckpoints(const DirectoryEntry& entry) {
  return absl::StartsWith(entry.name, "step-") || IsAbandonedName(entry.name);
}

}  // namespace

absl::StatusOr<AsideCheckpoints> SetCheckpointsAside(Files& files, const std::string& directory) {
  AsideCheckpoints aside;
  const absl::Status status =
      files.IsObjectStore() ? MarkAll(files, directory, aside) : MoveAll(files, directory, aside);
  if (status.ok()) return aside;
  PutCheckpointsBack(files, directory, aside).IgnoreError();
  return status;
}

absl::Status PutCheckpointsBack(Files& files, const std::string& directory,
                                const AsideCheckpoints& aside) {
  if (aside.where.empty()) return absl::OkStatus();
  absl::Status status;
  for (auto name = aside.names.rbegin(); name != aside.names.rend(); ++name) {
    if (!files.IsObjectStore() && !Exists(files, JoinPath(aside.where, *name))) continue;
    status.Update(files.IsObjectStore()
                      ? RemoveAll(files, JoinPath(JoinPath(directory, *name), kAbandonedMark))
                      : files.Rename(JoinPath(aside.where, *name), JoinPath(directory, *name)));
  }
  if (files.IsObjectStore() || !status.ok()) return status;
  files.Remove(aside.where).IgnoreError();
  return files.SyncDirectory(directory);
}

absl::StatusOr<std::string> MoveJobAway(Files& files, const JobPaths& paths) {
  const std::string place = JoinPath(JoinPath(paths.root, kMovedFolder), RandomName());
  const std::string to = JoinPath(place, paths.job);
  MUSTER_ASSIGN_OR_RETURN(const Store store, HoldStore(files, paths));
  // Made first: where this fails, no worker need be ended.
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(place));
  absl::Status status = EndWorkers(paths, store);
  if (status.ok()) status = files.Rename(paths.folder(), to);
  if (status.ok()) return to;
  files.Remove(place).IgnoreError();
  files.Remove(ParentPath(place)).IgnoreError();
  return status;
}

absl::Status PutJobBack(Files& files, const JobPaths& paths, const std::string& moved_to) {
  if (!Exists(files, moved_to)) return absl::OkStatus();
  const auto written = files.List(paths.checkpoints());
  if (written.ok() && std::any_of(written->begin(), written->end(), HoldsCheckpoints)) {
    return absl::FailedPreconditionError(absl::StrCat(
        paths.checkpoints(), " holds checkpoints; the earlier job's folder is ", moved_to));
  }
  MUSTER_RETURN_IF_ERROR(RemoveAll(files, paths.folder()));
  MUSTER_RETURN_IF_ERROR(files.Rename(moved_to, paths.folder()));
  files.Remove(ParentPath(moved_to)).IgnoreError();
  files.Remove(ParentPath(ParentPath(moved_to))).IgnoreError();
  return absl::OkStatus();
}

std::string DropMovedJob(Files& files, const JobPaths& paths, const std::string& moved_to) {
  const std::string place = ParentPath(moved_to);
  const std::string from = JoinPath(moved_to, BaseName(paths.checkpoints()));
  std::string kept;
  absl::Status status;
  if (Exists(files, from)) {
    const auto aside = SetCheckpointsAside(files, from);
    status = aside.ok() ? MoveCheckpoints(files, from, paths.checkpoints()) : aside.status();
    const std::string where = aside.ok() ? aside->where : from;
    const bool moved = status.ok() && !where.empty();
    kept = moved ? JoinPath(paths.checkpoints(), BaseName(where)) : where;
  }
  if (status.ok()) status = RemoveAll(files, place);
  if (!status.ok()) {
    std::fprintf(stderr, "muster: what is left of the earlier job stays in %s: %s\n", place.c_str(),
                 std::string(status.message()).c_str());
  }
  files.Remove(ParentPath(place)).IgnoreError();
  return kept;
}

absl::StatusOr<std::string> RemoveJob(Files& files, const JobPaths& paths) {
  MUSTER_ASSIGN_OR_RETURN(const std::string moved_to, MoveJobAway(files, paths));
  return DropMovedJob(files, paths, moved_to);
}

}  // namespace muster::cli
