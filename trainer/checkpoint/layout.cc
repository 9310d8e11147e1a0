#include "trainer/checkpoint/layout.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checkpoint/checkpoint_history.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/failpoint.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/abandon.h"
#include "trainer/checkpoint/weight_index.h"

namespace muster::trainer {
namespace {

std::string SidecarPath(const std::string& partial, int writer) {
  return JoinPath(partial, absl::StrFormat("writer-%05d.json", writer + 1));
}

std::string TakenPath(const std::string& partial, int writer) {
  return JoinPath(partial, absl::StrFormat("taken-%05d", writer + 1));
}

// Ends the name of a directory that ranks write into after their round.
constexpr char kAfterRound[] = ".stop";

bool IsSameHistory(const CheckpointListing& listing, const RunRecord& run) {
  return HistoryName(listing.history) == HistoryName(run.history);
}

absl::Status PublishedByNewerRound(const std::string& path, const CheckpointListing& there,
                                   const RunRecord& run) {
  return absl::AlreadyExistsError(absl::StrCat(
      path, ": round ", there.round, " has published this step; this is round ", run.round));
}

// Gives `partial` the final name of a checkpoint, which something else has, unless a newer round
// has published it. That may be the same version saved before, an unfinished directory, or a
// checkpoint of a run that was given up. One of the two counts at every moment, because where the
// names cannot be exchanged at once, what is set aside counts as long as nothing whole has the
// name.
absl::Status TakeName(Files& files, const std::string& uri, const std::string& partial,
                      const std::string& final_path, const RunRecord& run) {
  const CheckpointListing there = InspectCheckpoint(files, final_path);
  if (there.complete && IsOfNewerRound(there, run)) {
    return PublishedByNewerRound(final_path, there, run);
  }
  const bool same =
      IsSameHistory(there, run) && there.attempt == run.attempt && there.job_uid == run.job_uid;
  // One that is set aside already may be all that counts, unless what has the name does.
  const std::string aside =
      absl::StrCat(final_path, kSetAside, ".r", there.complete ? run.round : 0);
  MUSTER_RETURN_IF_ERROR(RemoveAll(files, aside));
  std::string old = partial;
  absl::Status taken = files.Exchange(partial, final_path);
  if (absl::IsUnimplemented(taken)) {
    MUSTER_RETURN_IF_ERROR(files.Rename(final_path, aside));
    old = aside;
    taken = files.Rename(partial, final_path);
    if (!taken.ok()) files.Rename(aside, final_path).IgnoreError();
  }
  MUSTER_RETURN_IF_ERROR(taken);
  if (!there.complete || same) {
    if (old != aside) files.Rename(old, aside).IgnoreError();  // nothing is lost with it
    return absl::OkStatus();
  }
  const absl::Status abandoned = Abandon(files, uri, there, BaseName(old));
  if (abandoned.ok() || !Exists(files, old)) return abandoned;
  // The caller removes what it could not publish, which must not be the other run's.
  if (old == partial) {
    files.Exchange(partial, final_path).IgnoreError();
  } else if (files.Rename(final_path, partial).ok()) {
    files.Rename(old, final_path).IgnoreError();
  }
  return abandoned;
}

// Parses the step and round of `step-%09d.r<round>`, of that with an id or kAfterRound, and of
// `step-%09d.old.r<round>`; false for other names.
bool ParseLeftover(const std::string& name, int64_t& step, int64_t& round) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return false;
  step = StepOfCheckpointName(name.substr(0, dot));
  std::string rest = name.substr(dot);
  if (absl::StartsWith(rest, kSetAside)) rest = rest.substr(sizeof(kSetAside) - 1);
  if (step < 0 || !absl::StartsWith(rest, ".r")) return false;
  const char* const end = rest.data() + rest.size();
  const auto [stopped, error] = std::from_chars(rest.data() + 2, end, round);
  return error == std::errc() && (stopped == end || std::string_view(stopped, end) == kAfterRound ||
                                  StepOfCheckpointName(name) >= 0);
}

// Removes DONE first: a half-deleted checkpoint must look half-written.
absl::Status Delete(Files& files, const std::string& path) {
  const absl::Status done = files.Remove(JoinPath(path, kDoneName));
  if (!done.ok() && !absl::IsNotFound(done)) return done;
  MUSTER_RETURN_IF_ERROR(files.SyncDirectory(path));
  return RemoveAll(files, path);
}

// AlreadyExists if a newer round has published this step. Other checkpoints of the step have names
// of their own, so none is in the way.
absl::Status CheckNotSuperseded(Files& files, const std::string& uri, const RunRecord& run) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<CheckpointListing> listings,
                          ListCheckpoints(files, uri));
  for (const CheckpointListing& there : listings) {
    if (!there.complete || there.step != run.step || !IsOfNewerRound(there, run)) continue;
    return PublishedByNewerRound(JoinPath(uri, there.directory), there, run);
  }
  return absl::OkStatus();
}

}  // namespace

// The whole round may have begun to save the same step, in other shares, so that the ranks that are
// left have a directory of their own.
std::string PartialName(const Files& files, const RunRecord& run) {
  if (!files.IsObjectStore()) {
    return absl::StrCat(PartialCheckpointName(run.step, run.round),
                        run.after_round ? kAfterRound : "");
  }
  const std::string id = absl::StrCat(run.job_uid, run.after_round ? kAfterRound : "");
  return ObjectCheckpointName(run.step, id, run.term, run.round);
}

std::string FinalName(const Files& files, const RunRecord& run) {
  return files.IsObjectStore() ? PartialName(files, run) : CheckpointName(run.step);
}

std::string ShareName(const char* group, int writer, int64_t writers) {
  return absl::StrFormat("%s-%05d-of-%05d.safetensors", group, writer + 1, writers);
}

absl::Status ClaimShare(Files& files, const std::string& partial, int writer) {
  MUSTER_RETURN_IF_ERROR(files.MakeDirectories(partial));
  return CreateExclusive(files, TakenPath(partial, writer), "");
}

absl::Status WriteSidecar(Files& files, const std::string& partial, int writer,
                          const Manifest& part) {
  MUSTER_RETURN_IF_ERROR(files.SyncDirectory(partial));
  return WriteFileAtomically(files, SidecarPath(partial, writer), FormatSidecar(part));
}

absl::Status WriteFailedSidecar(Files& files, const std::string& partial, int writer,
                                const std::string& error) {
  return WriteFileAtomically(files, SidecarPath(partial, writer), DumpJson({{"error", error}}));
}

absl::StatusOr<Manifest> ReadSidecar(Files& files, const std::string& partial, int writer,
                                     const RunRecord& run) {
  const std::string path = SidecarPath(partial, writer);
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path, kMaxManifestBytes));
  absl::StatusOr<Manifest> part = ParseSidecar(text);
  if (!part.ok()) {
    const absl::StatusOr<Json> json = ParseJson(text, kMaxManifestBytes);
    if (json.ok() && json->is_object() && json->contains("error")) {
      return absl::AbortedError(
          absl::StrCat("writer ", writer, " failed: ", DumpJson((*json)["error"])));
    }
    return part.status();
  }
  if (part->run.step != run.step || part->run.attempt != run.attempt ||
      part->run.term != run.term || part->run.round != run.round ||
      part->run.writers != run.writers || part->run.history != run.history ||
      part->run.job_uid != run.job_uid) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": belongs to another save"));
  }
  return part;
}

void JoinManifests(Manifest&& part, Manifest& into) {
  for (FileRecord& file : part.files) into.files.push_back(std::move(file));
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < into.tensors.size(); ++i) known[into.tensors[i].name] = i;
  for (TensorRecord& tensor : part.tensors) {
    auto found = known.find(tensor.name);
    if (found == known.end()) {
      into.tensors.push_back(std::move(tensor));
      continue;
    }
    std::vector<TensorSlice>& slices = into.tensors[found->second].slices;
    slices.insert(slices.end(), tensor.slices.begin(), tensor.slices.end());
  }
}

std::string FormatModelIndex(const Manifest& manifest) {
  WeightIndex index;
  uint64_t bytes = 0;
  for (const TensorRecord& tensor : manifest.tensors) {
    if (!IsWeight(tensor)) continue;
    if (tensor.slices.size() != 1) return "";
    index[tensor.name] = tensor.slices[0].file;
    bytes += tensor.slices[0].count * ElementBytes(tensor.type);
  }
  return FormatWeightIndex(index, bytes);
}

absl::Status WriteDocument(Files& files, const std::string& partial, const std::string& name,
                           const std::string& contents, Manifest& manifest) {
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(files, JoinPath(partial, name), contents));
  manifest.files.push_back({name, contents.size(), Hash128Hex(contents)});
  return absl::OkStatus();
}

absl::Status Publish(Files& files, const std::string& uri, const std::string& partial,
                     const Manifest& manifest) {
  const std::string text = FormatManifest(manifest);
  // The reader here must accept it: no checkpoint is better than one that cannot be loaded.
  MUSTER_RETURN_IF_ERROR(ParseManifest(text).status());
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(files, JoinPath(partial, kManifestName), text));
  for (int writer = 0; writer < manifest.run.writers; ++writer) {
    const absl::Status removed = files.Remove(SidecarPath(partial, writer));
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    if (manifest.run.after_round) files.Remove(TakenPath(partial, writer)).IgnoreError();
  }
  MUSTER_FAILPOINT("checkpoint.before_done");
  if (files.IsObjectStore()) MUSTER_RETURN_IF_ERROR(CheckNotSuperseded(files, uri, manifest.run));
  MUSTER_RETURN_IF_ERROR(
      CreateExclusive(files, JoinPath(partial, kDoneName), CheckpointDoneContents(text)));
  if (files.IsObjectStore()) return absl::OkStatus();
  const std::string final_path = JoinPath(uri, CheckpointName(manifest.run.step));
  absl::Status renamed = files.Rename(partial, final_path);
  if (absl::IsAlreadyExists(renamed)) {
    renamed = TakeName(files, uri, partial, final_path, manifest.run);
  }
  MUSTER_RETURN_IF_ERROR(renamed);
  return files.SyncDirectory(uri);
}

absl::Status Prune(Files& files, const std::string& uri, const RunRecord& published, int keep) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<CheckpointListing> listings,
                          ListCheckpoints(files, uri));
  // A newer round has its own checkpoints, and goes on from those that it knows.
  const auto is_newer = [&](const CheckpointListing& listing) {
    return (listing.complete || listing.superseded) && IsOfNewerRound(listing, published);
  };
  if (std::any_of(listings.begin(), listings.end(), is_newer)) return absl::OkStatus();
  const std::string own = FinalName(files, published);
  bool whole = false;
  std::vector<std::string> doomed;
  int complete = 0;
  for (const CheckpointListing& listing : listings) {
    int64_t step = 0, round = 0;
    whole = whole || (listing.complete && listing.directory == own);
    if (listing.complete) {
      // Checkpoints of other runs, and of later steps, do not count and are not this run's to
      // delete.
      if (!IsSameHistory(listing, published) || listing.step > published.step) continue;
      if (++complete > std::max(keep, 2)) doomed.push_back(listing.directory);
    } else if (ParseLeftover(listing.directory, step, round) && step <= published.step &&
               (round < published.round ||
                (round == published.round &&
                 (step < published.step || absl::StrContains(listing.directory, kSetAside))))) {
      // An older save of the same round goes, too: all its writers were done with it before this
      // one.
      doomed.push_back(listing.directory);
    }
  }
  if (doomed.empty()) return absl::OkStatus();
  // The checksums in the manifest are those of the bytes as they were written and synced. To read
  // them all again would take as long as the save.
  if (!whole) return absl::DataLossError(absl::StrCat(JoinPath(uri, own), ": is not whole"));
  // Superseded ones first: they would count again without the ones that supersede them.
  std::reverse(doomed.begin(), doomed.end());
  for (const std::string& directory : doomed) {
    MUSTER_RETURN_IF_ERROR(Delete(files, JoinPath(uri, directory)));
  }
  return files.SyncDirectory(uri);
}

}  // namespace muster::trainer
