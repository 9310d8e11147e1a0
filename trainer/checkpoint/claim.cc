#include "trainer/checkpoint/claim.h"

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/json.h"
#include "base/random_name.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

constexpr size_t kMaxOwner = 64 << 10;
constexpr size_t kMaxMark = 4 << 10;
constexpr char kOwnerFile[] = "owner.json";

std::string OwnerPath(const std::string& uri) {
  return JoinPath(JoinPath(uri, kClaimName), kOwnerFile);
}

std::string MarkPath(const std::string& uri) {
  return JoinPath(JoinPath(uri, kClaimName), "round.json");
}

constexpr char kDraft[] = ".claim-";
constexpr char kProbe[] = ".probe-";

// Returns a path that no listing takes for a checkpoint and no other process has.
std::string HiddenName(const std::string& uri, const char* prefix) {
  return JoinPath(uri, absl::StrCat(prefix, RandomName()));
}

// Removes what processes that were killed have left. What a living one has there is of no use once
// the directory is claimed, and a probe ends in its removal.
void RemoveLeftovers(Files& files, const std::string& uri) {
  const auto entries = files.List(uri);
  if (!entries.ok()) return;
  for (const DirectoryEntry& entry : *entries) {
    const bool ours = absl::StartsWith(entry.name, kDraft) || absl::StartsWith(entry.name, kProbe);
    if (ours) RemoveAllOfThisUser(files, JoinPath(uri, entry.name)).IgnoreError();
  }
}

std::string Format(const ClaimOwner& owner) {
  return DumpJson({{"job", owner.job}, {"jobUid", owner.job_uid}}, 1);
}

std::string Format(const RoundMark& mark) {
  return DumpJson({{"jobUid", mark.job_uid}, {"term", mark.term}, {"round", mark.round}}, 1);
}

// Returns the owner that owner.json names. NotFound if the directory is not claimed,
// FailedPrecondition if the file names no owner.
absl::StatusOr<ClaimOwner> ReadOwner(Files& files, const std::string& uri) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files, OwnerPath(uri), kMaxOwner));
  const absl::StatusOr<Json> json = ParseJson(text);
  ClaimOwner owner;
  const auto read = [&](const char* name, std::string& into) {
    if (!json.ok() || !json->is_object() || !json->contains(name)) return false;
    const Json& value = (*json)[name];
    if (value.is_string()) into = value.get<std::string>();
    return value.is_string();
  };
  if (!read("job", owner.job) || !read("jobUid", owner.job_uid)) {
    return absl::FailedPreconditionError(
        absl::StrCat(OwnerPath(uri),
                     ": must name the job and jobUid that own the directory; remove the file if no "
                     "job uses the directory"));
  }
  return owner;
}

absl::Status OwnedByOther(const std::string& uri, const std::string& job) {
  return absl::AlreadyExistsError(
      absl::StrCat(uri, ": holds the checkpoints of job ", job,
                   ": give this job a directory of its own, or move them away"));
}

// Allows for older manifests, which name a job without its namespace.
bool BelongsTo(const std::string& job, const ClaimOwner& owner) {
  return job.empty() || job == owner.job || absl::EndsWith(owner.job, absl::StrCat("/", job));
}

// Refuses a directory without a claim if another job's checkpoints are in it.
absl::Status CheckCheckpoints(Files& files, const std::string& uri, const ClaimOwner& owner) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<CheckpointListing> listings,
                          ListCheckpoints(files, uri));
  for (const CheckpointListing& listing : listings) {
    if (listing.complete && !BelongsTo(listing.job, owner)) return OwnedByOther(uri, listing.job);
  }
  return absl::OkStatus();
}

// Makes the claim; AlreadyExists if another process was first.
absl::Status CreateClaim(Files& files, const std::string& uri, const ClaimOwner& owner) {
  if (files.IsObjectStore()) return CreateExclusive(files, OwnerPath(uri), Format(owner));
  const std::string draft = HiddenName(uri, kDraft);
  absl::Status made = files.MakeDirectories(draft);
  if (made.ok()) made = WriteFileAtomically(files, JoinPath(draft, kOwnerFile), Format(owner));
  if (made.ok()) made = files.Rename(draft, JoinPath(uri, kClaimName));
  if (made.ok()) return files.SyncDirectory(uri);
  RemoveAll(files, draft).IgnoreError();
  return made;
}

}  // namespace

absl::Status ClaimCheckpoints(Files& files, const std::string& uri, const ClaimOwner& owner,
                              Takeover takeover) {
  const absl::StatusOr<FileInfo> there = files.Stat(uri);
  if (there.ok() && there->kind != FileKind::kDirectory) {
    return absl::FailedPreconditionError(absl::StrCat(uri, ": is a file, not a directory"));
  }
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(uri));
  absl::StatusOr<ClaimOwner> known = ReadOwner(files, uri);
  if (absl::IsNotFound(known.status())) {
    MUSTER_RETURN_IF_ERROR(CheckCheckpoints(files, uri, owner));
    const absl::Status made = CreateClaim(files, uri, owner);
    if (made.ok()) return made;
    known = ReadOwner(files, uri);  // the faster one's
    if (absl::IsNotFound(known.status())) return made;
  }
  MUSTER_RETURN_IF_ERROR(known.status());
  if (known->job != owner.job) return OwnedByOther(uri, known->job);
  if (known->job_uid == owner.job_uid) return absl::OkStatus();
  if (takeover == Takeover::kNever) {
    return absl::AlreadyExistsError(absl::StrCat(
        uri, ": was taken over by a newer job of the same name, uid ", known->job_uid));
  }
  return WriteFileAtomically(files, OwnerPath(uri), Format(owner));
}

absl::Status CheckWritable(Files& files, const std::string& uri) {
  const std::string probe = HiddenName(uri, kProbe);
  if (files.IsObjectStore()) {
    MUSTER_RETURN_IF_ERROR(CreateExclusive(files, probe, ""));
    RemoveLeftovers(files, uri);
    return RemoveAll(files, probe);
  }
  MUSTER_RETURN_IF_ERROR(files.Stat(uri).status());
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(probe));
  RemoveLeftovers(files, uri);
  return RemoveAll(files, probe);
}

absl::Status WriteRoundMark(Files& files, const std::string& uri, const RoundMark& mark) {
  MUSTER_RETURN_IF_ERROR(files.Stat(JoinPath(uri, kClaimName)).status());
  return WriteFileAtomically(files, MarkPath(uri), Format(mark));
}

absl::Status FindRoundMark(Files& files, const std::string& uri, const RoundMark& mark) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files, MarkPath(uri), kMaxMark));
  if (text == Format(mark)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(MarkPath(uri), ": is of another round"));
}

}  // namespace muster::trainer
