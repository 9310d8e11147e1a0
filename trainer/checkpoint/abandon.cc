#include "trainer/checkpoint/abandon.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_history.h"
#include "base/status_macros.h"

namespace muster::trainer {

absl::Status Abandon(Files& files, const std::string& uri, const CheckpointListing& checkpoint,
                     const std::string& at) {
  if (files.IsObjectStore()) {
    return MarkAbandoned(files, JoinPath(uri, checkpoint.directory), checkpoint);
  }
  const std::string folder = JoinPath(uri, AbandonedName(checkpoint.history));
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(folder));
  // One step may be given up more than once.
  std::string name = checkpoint.directory;
  for (int other = 2; Exists(files, JoinPath(folder, name)); ++other) {
    name = absl::StrCat(checkpoint.directory, ".", other);
  }
  const std::string from = at.empty() ? checkpoint.directory : at;
  MUSTER_RETURN_IF_ERROR(files.Rename(JoinPath(uri, from), JoinPath(folder, name)));
  // The new name must be durable before the removal of the old one can be.
  MUSTER_RETURN_IF_ERROR(files.SyncDirectory(folder));
  return files.SyncDirectory(uri);
}

bool IsOfNewerRound(const CheckpointListing& checkpoint, const RunRecord& run) {
  return checkpoint.job_uid == run.job_uid &&
         std::pair(checkpoint.term, checkpoint.round) > std::pair(run.term, run.round);
}

absl::Status SetAside(Files& files, const std::string& uri, const RunRecord& run) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<CheckpointListing> listings,
                          ListCheckpoints(files, uri));
  for (const CheckpointListing& listing : listings) {
    // One that is superseded would count again without the one that supersedes it.
    const bool whole = listing.complete || listing.superseded;
    if (!whole || IsOfNewerRound(listing, run)) continue;
    const bool ours = HistoryName(listing.history) == HistoryName(run.history);
    if (ours && listing.step <= run.step) continue;
    MUSTER_RETURN_IF_ERROR(Abandon(files, uri, listing));
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
