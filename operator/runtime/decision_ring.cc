#include "operator/runtime/decision_ring.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "operator/kube/wal_format.h"

namespace muster::control {
namespace {

constexpr char kPrefix[] = "decisions-";
constexpr size_t kMaxFile = size_t{1} << 30;

// Files of decisions, oldest first: the names are as long as each other.
absl::StatusOr<std::vector<std::string>> ListFiles(Files& files, const std::string& directory) {
  MUSTER_ASSIGN_OR_RETURN(const auto entries, files.List(directory));
  std::vector<std::string> paths;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind == FileKind::kFile && absl::StartsWith(entry.name, kPrefix)) {
      paths.push_back(JoinPath(directory, entry.name));
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Until `see` says false; whether it never did.
bool ReadRecords(std::string_view bytes,
                 const std::function<bool(const absl::StatusOr<DecisionRecord>&)>& see) {
  kube::WalReader reader(bytes);
  while (const std::optional<std::string_view> record = reader.Next()) {
    if (!see(DecodeRecord(*record))) return false;
  }
  return true;
}

}  // namespace

DecisionRing::DecisionRing(Files& files, std::string directory, DecisionRingOptions options)
    : files_(files), directory_(std::move(directory)), options_(options) {
  const auto paths = ListFiles(files_, directory_);
  if (!paths.ok()) return;
  for (const std::string& path : *paths) {
    const auto info = files_.Stat(path);
    segments_.push_back({path, info.ok() ? info->size : 0});
  }
  // Damaged files are passed over: ids must go up, and nothing else rests on them.
  ReadDecisions(files_, directory_, [this](const absl::StatusOr<DecisionRecord>& record) {
    if (record.ok()) next_id_ = std::max(next_id_, record->id + 1);
    return true;
  }).IgnoreError();
}

absl::Status DecisionRing::Begin(uint64_t id) {
  open_.reset();
  const std::string path = JoinPath(directory_, absl::StrFormat("%s%016x", kPrefix, id));
  MUSTER_RETURN_IF_ERROR(files_.MakeDirectories(directory_));
  MUSTER_ASSIGN_OR_RETURN(open_, files_.Create(path, CreateMode::kTruncate));
  std::erase_if(segments_, [&](const Segment& segment) { return segment.path == path; });
  segments_.push_back({path, 0});
  return absl::OkStatus();
}

// The file that is being written stays.
void DecisionRing::DropOldest(uint64_t room) {
  uint64_t all = 0;
  for (const Segment& segment : segments_) all += segment.bytes;
  while (segments_.size() > 1 && all + room > options_.max_bytes) {
    files_.Remove(segments_.front().path).IgnoreError();
    all -= segments_.front().bytes;
    segments_.pop_front();
  }
}

absl::Status DecisionRing::Add(uint64_t id, std::string_view record) {
  next_id_ = std::max(next_id_, id + 1);
  const std::string framed = kube::EncodeWalRecord(record);
  const uint64_t part = options_.max_bytes / options_.files;
  if (framed.size() > part) {
    return absl::ResourceExhaustedError(absl::StrCat("decision ", id, " of ", framed.size(),
                                                     " bytes is too large to keep: ", part));
  }
  if (open_ == nullptr || segments_.back().bytes + framed.size() > part) {
    MUSTER_RETURN_IF_ERROR(Begin(id));
  }
  DropOldest(framed.size());
  segments_.back().bytes += framed.size();
  const absl::Status written = open_->Append(framed);
  if (!written.ok()) open_.reset();
  return written;
}

absl::Status ReadDecisions(Files& files, const std::string& directory,
                           const std::function<bool(const absl::StatusOr<DecisionRecord>&)>& see) {
  MUSTER_ASSIGN_OR_RETURN(const auto paths, ListFiles(files, directory));
  for (const std::string& path : paths) {
    const absl::StatusOr<std::string> bytes = ReadFile(files, path, kMaxFile);
    if (absl::IsNotFound(bytes.status())) continue;  // it made room meanwhile
    if (!bytes.ok()) return bytes.status();
    if (!ReadRecords(*bytes, see)) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<DecisionRecord> FindDecision(Files& files, const std::string& directory,
                                            uint64_t id) {
  absl::StatusOr<DecisionRecord> found = absl::NotFoundError("");
  uint64_t first = 0, last = 0;
  absl::Status unreadable;
  MUSTER_RETURN_IF_ERROR(ReadDecisions(files, directory, [&](const auto& record) {
    if (!record.ok()) {
      unreadable = record.status();
      return true;
    }
    if (first == 0) first = record->id;
    last = record->id;
    if (record->id != id) return true;
    found = record;
    return false;
  }));
  if (found.ok()) return found;
  if (!unreadable.ok()) return unreadable;
  if (last == 0) return absl::NotFoundError(absl::StrCat("there are no decisions in ", directory));
  return absl::NotFoundError(absl::StrCat("there is no decision ", id, " in ", directory,
                                          "; it has ", first, " to ", last));
}

}  // namespace muster::control
