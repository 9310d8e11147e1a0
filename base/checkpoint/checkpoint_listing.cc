#include "base/checkpoint/checkpoint_listing.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checkpoint/checkpoint_history.h"
#include "base/checkpoint/checkpoint_share.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr char kPrefix[] = "step-";
constexpr char kAbandoned[] = "abandoned-";
constexpr size_t kIdDigits = 8;  // at the end of a name in an object store
constexpr size_t kMaxManifest = size_t{512} << 20;

// Returns the problem of a checkpoint whose file `name` could not be read: broken for good if the
// file itself is at fault, unknown if the file system failed.
std::string Broken(const std::string& name, const absl::Status& error, CheckpointListing& listing) {
  switch (error.code()) {
    case absl::StatusCode::kNotFound:
      return absl::StrCat("incomplete: ", name, " is missing");
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kOutOfRange:
      return absl::StrCat("corrupted: ", error.message());
    default:
      listing.unreadable = true;
      return absl::StrCat("unreadable: ", error.message());
  }
}

// Compares the sizes of all files in the manifest with those on disk. Returns the problem, or "".
std::string CheckSizes(Files& files, const std::string& path, const Json& manifest,
                       CheckpointListing& listing) {
  std::map<std::string, uint64_t> listed;
  if (files.IsObjectStore()) {
    // One list tells the sizes of all files, where each would be a request.
    const absl::StatusOr<std::vector<DirectoryEntry>> entries = files.List(path);
    if (!entries.ok()) return Broken(kManifestName, entries.status(), listing);
    for (const DirectoryEntry& entry : *entries) listed[entry.name] = entry.size.value_or(0);
  }
  for (const Json& record : ArrayField(manifest, "files")) {
    if (!record.is_object()) return "corrupted: an entry of manifest.json's files is not an object";
    const std::string name = StringField(record, "name");
    const uint64_t bytes = static_cast<uint64_t>(IntegerField(record, "bytes").value_or(0));
    if (name.empty() || name.find('/') != std::string::npos) {
      return "corrupted: manifest.json names a file outside the directory";
    }
    const auto known = listed.find(name);
    const absl::StatusOr<FileInfo> info = known == listed.end()
                                              ? files.Stat(JoinPath(path, name))
                                              : FileInfo{FileKind::kFile, known->second};
    if (!info.ok()) {
      return absl::StrCat(Broken(name, info.status(), listing), ContentsOfShare(manifest, name));
    }
    if (info->size != bytes) {
      return absl::StrCat("truncated: ", name, " has ", info->size, " bytes, not ", bytes,
                          ContentsOfShare(manifest, name));
    }
    listing.bytes += bytes;
  }
  return "";
}

// Returns the step of a checkpoint that was set aside; -1 for other names.
int64_t StepOfSetAside(const std::string& name) {
  const size_t dot = name.find(kSetAside);
  if (dot == std::string::npos) return -1;
  const std::string_view rest = std::string_view(name).substr(dot + sizeof(kSetAside) - 1);
  const bool is_round = rest.size() > 2 && rest.starts_with(".r") &&
                        std::all_of(rest.begin() + 2, rest.end(), absl::ascii_isdigit);
  return is_round ? StepOfCheckpointName(name.substr(0, dot)) : -1;
}

// Returns true if the rest of a checkpoint's name, after the step, is that of an object store.
bool IsObjectSuffix(std::string_view rest) {
  if (!rest.starts_with(".r") || rest.size() < kIdDigits + 4) return false;
  const std::string_view round = rest.substr(2, rest.size() - 3 - kIdDigits);
  const std::string_view id = rest.substr(rest.size() - kIdDigits);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  return rest[rest.size() - kIdDigits - 1] == '-' &&
         std::all_of(round.begin(), round.end(), is_digit) &&
         (round.size() == 1 || round.front() != '0') && std::all_of(id.begin(), id.end(), is_hex);
}

// Checkpoints in an object store are abandoned where they are.
absl::StatusOr<bool> IsMarkedAbandoned(Files& files, const std::string& path) {
  if (!files.IsObjectStore()) return false;
  const absl::Status mark = files.Stat(JoinPath(path, kAbandonedMark)).status();
  if (!mark.ok() && !absl::IsNotFound(mark)) return mark;
  return mark.ok();
}

void ReadRun(const Json& run, CheckpointListing& listing) {
  listing.step = IntegerField(run, "step").value_or(0);
  listing.attempt = IntegerField(run, "attempt").value_or(0);
  listing.term = IntegerField(run, "term").value_or(0);
  listing.round = IntegerField(run, "round").value_or(0);
  listing.writers = IntegerField(run, "writers").value_or(0);
  listing.job = StringField(run, "job");
  listing.job_uid = StringField(run, "job_uid");
  listing.history = StringField(run, "history");
  listing.created = StringField(run, "created");
}

// Fills `listing`. Returns the problem, or "".
std::string Inspect(Files& files, const std::string& path, CheckpointListing& listing) {
  const int64_t named_step =
      std::max(StepOfCheckpointName(listing.directory), StepOfSetAside(listing.directory));
  if (named_step < 0) {
    return absl::StartsWith(listing.directory, kPrefix) ? "half-written, or set aside"
                                                        : "foreign: not a checkpoint's name";
  }
  const absl::StatusOr<std::string> done = ReadFile(files, JoinPath(path, kDoneName), 4096);
  if (absl::IsNotFound(done.status())) return "half-written: DONE is missing";
  if (!done.ok()) return Broken(kDoneName, done.status(), listing);
  const absl::StatusOr<std::string> manifest =
      ReadFile(files, JoinPath(path, kManifestName), kMaxManifest);
  if (!manifest.ok()) return Broken(kManifestName, manifest.status(), listing);
  if (*done != CheckpointDoneContents(*manifest)) {
    return "corrupted: manifest.json is not the one DONE was written for";
  }
  const absl::StatusOr<Json> json = ParseUniqueJson(*manifest, kMaxManifest);
  if (!json.ok()) return absl::StrCat("corrupted: manifest.json: ", json.status().message());
  if (!json->is_object() || !json->contains("run") || !(*json)["run"].is_object() ||
      !json->contains("files") || !(*json)["files"].is_array()) {
    return "foreign: manifest.json is not a checkpoint's";
  }
  ReadRun((*json)["run"], listing);
  if (!listing.history.empty() && !IsHistoryId(listing.history)) {
    // It would name a folder, anywhere.
    listing.history.clear();
    return "corrupted: the history in its manifest is not 16 hexadecimal digits";
  }
  if (listing.step != named_step) {
    return absl::StrCat("corrupted: its manifest is of step ", listing.step);
  }
  return CheckSizes(files, path, *json, listing);
}

void SortListings(std::vector<CheckpointListing>& listings) {
  std::stable_sort(listings.begin(), listings.end(), [](const auto& a, const auto& b) {
    if (a.complete != b.complete) return a.complete;
    return a.complete && std::tie(a.step, a.term, a.round) > std::tie(b.step, b.term, b.round);
  });
}

// `listings` must be sorted.
void MarkSuperseded(std::vector<CheckpointListing>& listings) {
  std::map<std::pair<std::string, int64_t>, std::string> newest;
  for (CheckpointListing& listing : listings) {
    if (!listing.complete) continue;
    const std::pair key(std::string(HistoryName(listing.history)), listing.step);
    const auto [first, is_newest] = newest.try_emplace(key, listing.directory);
    if (is_newest) continue;
    listing.complete = false;
    listing.superseded = true;
    listing.problem = absl::StrCat("superseded by ", first->second);
  }
}

void MarkSetAside(std::vector<CheckpointListing>& listings) {
  std::set<int64_t> named;
  for (const CheckpointListing& listing : listings) {
    if (listing.complete && StepOfCheckpointName(listing.directory) >= 0) {
      named.insert(listing.step);
    }
  }
  for (CheckpointListing& listing : listings) {
    if (!listing.complete || StepOfCheckpointName(listing.directory) >= 0) continue;
    if (named.count(listing.step) == 0) continue;
    listing.complete = false;
    listing.problem = absl::StrCat("set aside: ", CheckpointName(listing.step), " has its place");
  }
}

}  // namespace

absl::StatusOr<std::vector<CheckpointListing>> ListCheckpoints(Files& files,
                                                               const std::string& uri) {
  std::vector<CheckpointListing> listings;
  absl::StatusOr<std::vector<DirectoryEntry>> entries = files.List(uri);
  if (absl::IsNotFound(entries.status())) return listings;
  MUSTER_RETURN_IF_ERROR(entries.status());
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind != FileKind::kDirectory) continue;
    if (IsAbandonedName(entry.name) || entry.name == kClaimName) continue;
    if (absl::StartsWith(entry.name, ".")) continue;
    const std::string path = JoinPath(uri, entry.name);
    MUSTER_ASSIGN_OR_RETURN(const bool abandoned, IsMarkedAbandoned(files, path));
    if (!abandoned) listings.push_back(InspectCheckpoint(files, path));
  }
  MarkSetAside(listings);
  SortListings(listings);
  MarkSuperseded(listings);
  SortListings(listings);
  return listings;
}

absl::StatusOr<std::vector<CheckpointListing>> ListAbandoned(Files& files, const std::string& uri) {
  std::vector<CheckpointListing> listings;
  absl::StatusOr<std::vector<DirectoryEntry>> folders = files.List(uri);
  if (absl::IsNotFound(folders.status())) return listings;
  MUSTER_RETURN_IF_ERROR(folders.status());
  for (const DirectoryEntry& folder : *folders) {
    if (folder.kind != FileKind::kDirectory) continue;
    if (StepOfCheckpointName(folder.name) >= 0) {
      const std::string path = JoinPath(uri, folder.name);
      MUSTER_ASSIGN_OR_RETURN(const bool abandoned, IsMarkedAbandoned(files, path));
      if (abandoned) listings.push_back(InspectCheckpoint(files, path));
    }
    if (!IsAbandonedName(folder.name)) continue;
    MUSTER_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries,
                            files.List(JoinPath(uri, folder.name)));
    for (const DirectoryEntry& entry : entries) {
      CheckpointListing& listing = listings.emplace_back(
          InspectCheckpoint(files, JoinPath(JoinPath(uri, folder.name), entry.name)));
      listing.directory = JoinPath(folder.name, entry.name);
    }
  }
  SortListings(listings);
  return listings;
}

absl::Status MarkAbandoned(Files& files, const std::string& path,
                           const CheckpointListing& listing) {
  return WriteFileAtomically(files, JoinPath(path, kAbandonedMark),
                             absl::StrCat(std::string(HistoryName(listing.history)), "\n"));
}

std::string AbandonedName(const std::string& history) {
  return absl::StrCat(kAbandoned, std::string(HistoryName(history)));
}
bool IsAbandonedName(const std::string& name) { return absl::StartsWith(name, kAbandoned); }

CheckpointListing InspectCheckpoint(Files& files, const std::string& path) {
  CheckpointListing listing;
  listing.directory = BaseName(path);
  listing.step =
      std::max(StepOfCheckpointName(listing.directory), StepOfSetAside(listing.directory));
  listing.problem = Inspect(files, path, listing);
  listing.complete = listing.problem.empty();
  return listing;
}

std::string CheckpointName(int64_t step) { return absl::StrFormat("step-%09d", step); }

std::string PartialCheckpointName(int64_t step, int64_t round) {
  return absl::StrFormat("step-%09d.r%d", step, round);
}

std::string ObjectCheckpointName(int64_t step, const std::string& job_uid, int64_t term,
                                 int64_t round) {
  const std::string id = ToHex(Hash64(absl::StrCat(job_uid, "/", term, "/", round)));
  return absl::StrCat(PartialCheckpointName(step, round), "-", id.substr(0, kIdDigits));
}

int64_t StepOfCheckpointName(const std::string& name) {
  constexpr size_t kPrefixSize = sizeof(kPrefix) - 1;
  if (name.compare(0, kPrefixSize, kPrefix) != 0) return -1;
  const char* const begin = name.data() + kPrefixSize;
  const char* const end = name.data() + name.size();
  int64_t step = -1;
  const auto [stopped, error] = std::from_chars(begin, end, step);
  const std::string_view rest(stopped, static_cast<size_t>(end - stopped));
  if (error != std::errc() || step < 0 || (!rest.empty() && !IsObjectSuffix(rest))) return -1;
  // Only the canonical spelling counts.
  return name.starts_with(CheckpointName(step)) &&
                 CheckpointName(step).size() + rest.size() == name.size()
             ? step
             : -1;
}

std::string CheckpointDoneContents(const std::string& manifest) {
  return absl::StrCat("manifest ", Hash128Hex(manifest), "\n");
}

}  // namespace muster
