#include "operator/scheduler/record/decision_ring.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "operator/kube/memory/wal_format.h"

namespace muster::control {
namespace {

constexpr char kPrefix[] = "decisions-";
constexpr size_t kMaxFile = size_t{1} << 30;

struct RingFile {
  std::string path;
  uint64_t first = 0;  // the id of its first record, from the file name
};

// Returns the ring's files, oldest first. Files with other names are not the ring's.
absl::StatusOr<std::vector<RingFile>> ListFiles(Files& files, const std::string& directory) {
  MUSTER_ASSIGN_OR_RETURN(const auto entries, files.List(directory));
  std::vector<RingFile> found;
  for (const DirectoryEntry& entry : entries) {
    absl::string_view id = entry.name;
    uint64_t first = 0;
    if (entry.kind == FileKind::kFile && absl::ConsumePrefix(&id, kPrefix) &&
        absl::SimpleHexAtoi(id, &first)) {
      found.push_back({JoinPath(directory, entry.name), first});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const RingFile& a, const RingFile& b) { return a.first < b.first; });
  return found;
}

// Passes records to `see` until it returns false; returns true if it never did.
bool ReadRecords(std::string_view bytes,
                 const std::function<bool(const absl::StatusOr<DecisionRecord>&)>& see) {
  kube::WalReader reader(bytes);
  while (const std::optional<std::string_view> record = reader.Next()) {
    if (!see(DecodeRecord(*record))) return false;
  }
  return true;
}

// Returns the ids of the file's whole records, in order; none for an unreadable file.
std::vector<uint64_t> IdsIn(Files& files, const RingFile& file) {
  std::vector<uint64_t> ids;
  const absl::StatusOr<std::string> bytes = ReadFile(files, file.path, kMaxFile);
  if (!bytes.ok()) return ids;
  kube::WalReader reader(*bytes);
  while (const std::optional<std::string_view> record = reader.Next()) {
    if (const auto id = RecordId(*record); id.ok()) ids.push_back(*id);
  }
  return ids;
}

// Returns 0 if there is no record.
uint64_t LastId(Files& files, const std::vector<RingFile>& list) {
  for (auto file = list.rbegin(); file != list.rend(); ++file) {
    if (const auto ids = IdsIn(files, *file); !ids.empty()) return ids.back();
  }
  return 0;
}

uint64_t FirstId(Files& files, const std::vector<RingFile>& list) {
  for (const RingFile& file : list) {
    if (const auto ids = IdsIn(files, file); !ids.empty()) return ids.front();
  }
  return 0;
}

// Returns the ids before and after `id`, which is missing between others.
std::pair<uint64_t, uint64_t> Around(Files& files, const std::vector<RingFile>& list, uint64_t id) {
  std::pair<uint64_t, uint64_t> around;
  for (auto file = list.rbegin(); file != list.rend(); ++file) {
    const std::vector<uint64_t> ids = IdsIn(files, *file);
    const auto after = std::upper_bound(ids.begin(), ids.end(), id);
    if (after != ids.end()) around.second = *after;
    if (after == ids.begin()) continue;
    around.first = *std::prev(after);
    break;
  }
  return around;
}

absl::Status NotThere(Files& files, const std::string& directory, const std::vector<RingFile>& list,
                      uint64_t id) {
  const uint64_t last = LastId(files, list);
  if (last == 0) return absl::NotFoundError(absl::StrCat("there are no decisions in ", directory));
  const uint64_t first = FirstId(files, list);
  std::string nearest;
  if (id > first && id < last) {
    const auto [before, after] = Around(files, list, id);
    nearest = absl::StrCat(", the nearest are ", before, " and ", after);
  }
  return absl::NotFoundError(absl::StrCat("there is no decision ", id, " in ", directory,
                                          "; it has ", first, " to ", last, nearest));
}

}  // namespace

DecisionRing::DecisionRing(Files& files, std::string directory, DecisionRingOptions options)
    : files_(files), directory_(std::move(directory)), options_(options) {
  const auto list = ListFiles(files_, directory_);
  if (!list.ok()) return;
  for (const RingFile& file : *list) {
    const auto info = files_.Stat(file.path);
    segments_.push_back({file.path, info.ok() ? info->size : 0});
  }
  // Damaged files are skipped: ids must rise, and nothing else depends on those files.
  next_id_ = LastId(files_, *list) + 1;
  if (!list->empty()) next_id_ = std::max(next_id_, list->back().first + 1);
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

// Removes the oldest files until there is `room`, but never the one that is being written.
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
  MUSTER_ASSIGN_OR_RETURN(const auto list, ListFiles(files, directory));
  for (const RingFile& file : list) {
    const absl::StatusOr<std::string> bytes = ReadFile(files, file.path, kMaxFile);
    if (absl::IsNotFound(bytes.status())) continue;  // removed meanwhile to make room
    if (!bytes.ok()) return bytes.status();
    if (!ReadRecords(*bytes, see)) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<DecisionRecord> FindDecision(Files& files, const std::string& directory,
                                            uint64_t id) {
  MUSTER_ASSIGN_OR_RETURN(const auto list, ListFiles(files, directory));
  // Ids rise from file to file: the last file that begins at or before `id` has it, or the one
  // before, if a crash left no whole record in that one.
  auto file =
      std::upper_bound(list.begin(), list.end(), id,
                       [](uint64_t wanted, const RingFile& later) { return wanted < later.first; });
  for (bool empty = true; empty && file != list.begin();) {
    const absl::StatusOr<std::string> bytes = ReadFile(files, (--file)->path, kMaxFile);
    if (absl::IsNotFound(bytes.status())) break;  // removed meanwhile to make room
    if (!bytes.ok()) return bytes.status();
    kube::WalReader reader(*bytes);
    while (const std::optional<std::string_view> record = reader.Next()) {
      const absl::StatusOr<uint64_t> its = RecordId(*record);
      if (!its.ok()) return its.status();
      if (*its == id) return DecodeRecord(*record);
      empty = false;
    }
  }
  return NotThere(files, directory, list, id);
}

}  // namespace muster::control
