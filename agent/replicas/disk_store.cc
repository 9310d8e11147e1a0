#include "agent/replicas/disk_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "agent/core/copies_layout.h"
#include "agent/replicas/copy_parts.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr char kJobPrefix[] = "muster-copies-";
constexpr char kWorkerPrefix[] = "worker-";
constexpr char kUsed[] = "USED";
constexpr absl::Duration kUnusedFor = absl::Hours(24 * 7);

void Remove(Files& files, const std::string& path) {
  const absl::Status removed = RemoveAll(files, path);
  if (removed.ok()) return;
  MUSTER_LOG(WARN, "could not remove copies on disk", {"path", path}, {"error", removed});
}

std::vector<DirectoryEntry> EntriesOf(Files& files, const std::string& folder) {
  return files.List(folder).value_or(std::vector<DirectoryEntry>());
}

}  // namespace

DiskStore::DiskStore(Options options, Files& disk, Files& memory, const Clock& clock)
    : options_(std::move(options)),
      job_folder_(JoinPath(options_.folder, absl::StrCat(kJobPrefix, options_.worker.job_uid()))),
      disk_(disk),
      memory_(memory),
      clock_(clock) {}

absl::Status DiskStore::Open() {
  const std::string own = FolderOf(options_.worker.index());
  MUSTER_RETURN_IF_ERROR(disk_.MakeDirectories(own));
  // Somebody else who can write to the disk may have been first, with a link to another folder.
  MUSTER_RETURN_IF_ERROR(disk_.CheckOwnDirectory(job_folder_));
  MUSTER_RETURN_IF_ERROR(disk_.SyncDirectory(options_.folder));
  MUSTER_RETURN_IF_ERROR(NoteUse());
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const std::string folder = CopiesOfRank(own, rank);
    MUSTER_RETURN_IF_ERROR(disk_.MakeDirectories(folder));
    for (const DirectoryEntry& entry : EntriesOf(disk_, folder)) {
      if (!absl::StartsWith(entry.name, kArrivingPrefix)) continue;
      Remove(disk_, JoinPath(folder, entry.name));
    }
  }
  RemoveUnusedJobs();
  return disk_.SyncDirectory(own);
}

absl::Status DiskStore::NoteUse() {
  return WriteFileAtomically(
      disk_, JoinPath(job_folder_, kUsed),
      absl::FormatTime(absl::RFC3339_sec, clock_.Wall(), absl::UTCTimeZone()));
}

// A job whose folder does not say when it was used is left alone.
void DiskStore::RemoveUnusedJobs() {
  for (const DirectoryEntry& entry : EntriesOf(disk_, options_.folder)) {
    const std::string folder = JoinPath(options_.folder, entry.name);
    if (!absl::StartsWith(entry.name, kJobPrefix) || folder == job_folder_) continue;
    const auto text = ReadFile(disk_, JoinPath(folder, kUsed));
    absl::Time used;
    std::string problem;
    if (!text.ok() || !absl::ParseTime(absl::RFC3339_full, *text, &used, &problem)) continue;
    if (clock_.Wall() - used < kUnusedFor || !disk_.CheckOwnDirectory(folder).ok()) continue;
    MUSTER_LOG(INFO, "removes the copies on disk of a job that has not used them for a week",
               {"folder", folder}, {"used", *text});
    Remove(disk_, folder);
  }
}

// Another agent of the node that still writes removes what it makes anew at its own end.
void DiskStore::RemoveJob() { Remove(disk_, job_folder_); }

absl::Status DiskStore::Keep(const std::string& path, int local_rank, Check check) {
  const std::string folder = FolderOf(options_.worker.index(), local_rank);
  MUSTER_RETURN_IF_ERROR(disk_.MakeDirectories(folder));
  MUSTER_RETURN_IF_ERROR(
      TransferCopy(memory_, path, options_.worker, {disk_, folder}, CopyReceiver::Sync::kYes, check)
          .status());
  RemoveOld(local_rank);
  return NoteUse();
}

void DiskStore::RemoveOld(int local_rank) {
  const std::string folder = FolderOf(options_.worker.index(), local_rank);
  const std::vector<CheckpointListing> whole = WholeIn(folder);
  for (size_t i = kCopiesOfARank; i < whole.size(); ++i) {
    Remove(disk_, JoinPath(folder, whole[i].directory));
  }
}

std::vector<CheckpointListing> DiskStore::WholeIn(const std::string& folder) const {
  std::vector<CheckpointListing> copies = CompleteCopies(disk_, folder);
  std::erase_if(copies, [&](const CheckpointListing& copy) {
    return copy.job_uid != options_.worker.job_uid();
  });
  return copies;
}

std::vector<DiskStore::Replica> DiskStore::Of(int index) const {
  std::vector<Replica> replicas;
  std::vector<std::vector<CheckpointListing>> ranks;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    ranks.push_back(WholeIn(FolderOf(index, rank)));
  }
  for (size_t age = 0; age < kCopiesOfARank; ++age) {
    for (int rank = 0; rank < options_.ranks; ++rank) {
      if (age >= ranks[rank].size()) continue;
      replicas.push_back({rank, JoinPath(FolderOf(index, rank), ranks[rank][age].directory)});
    }
  }
  return replicas;
}

std::vector<int> DiskStore::Workers() const {
  std::vector<int> workers;
  for (const DirectoryEntry& entry : EntriesOf(disk_, job_folder_)) {
    absl::string_view number = entry.name;
    int index = 0;
    if (!absl::ConsumePrefix(&number, kWorkerPrefix) || !absl::SimpleAtoi(number, &index)) continue;
    if (!Of(index).empty()) workers.push_back(index);
  }
  std::sort(workers.begin(), workers.end());
  return workers;
}

std::string DiskStore::FolderOf(int index) const {
  return JoinPath(job_folder_, absl::StrCat(kWorkerPrefix, index));
}

std::string DiskStore::FolderOf(int index, int local_rank) const {
  return CopiesOfRank(FolderOf(index), local_rank);
}

}  // namespace muster::agent
