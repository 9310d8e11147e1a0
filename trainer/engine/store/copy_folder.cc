#include "trainer/engine/store/copy_folder.h"

#include <cstdint>

#include "base/checkpoint/checkpoint_listing.h"
#include "base/json.h"
#include "base/logging.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/commit/held_places.h"

namespace muster::trainer {
namespace {

// A copy that failed so often is left to the next process, and the job goes on from another one.
constexpr int kMostFailures = 3;

// Another attempt may succeed only after an error of the machine, not one of the copy.
bool MayPass(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::vector<v1alpha1::StateCopy> ListCopies(Files& files, const std::string& folder,
                                            const std::string& job_uid, const std::string& chunks) {
  std::vector<v1alpha1::StateCopy> copies;
  const auto listings = ListCheckpoints(files, folder);
  if (!listings.ok()) return copies;
  for (const CheckpointListing& listing : *listings) {
    if (!listing.complete || listing.job_uid != job_uid) continue;
    const auto reader = CheckpointReader::Open(files, JoinPath(folder, listing.directory));
    if (!reader.ok()) continue;
    const std::optional<CopyPlace> place = PlaceOfCopy((*reader)->manifest().run, chunks);
    if (!place) continue;
    v1alpha1::StateCopy& copy = copies.emplace_back();
    copy.mutable_version()->set_step(listing.step);
    copy.mutable_version()->set_attempt(listing.attempt);
    copy.set_history(listing.history);
    *copy.mutable_slice() = ToSlice(*place);
    copy.set_bytes(static_cast<int64_t>(listing.bytes));
  }
  return copies;
}

void FailedCopies::Note(Files& files, const std::string& path, const absl::Status& why,
                        bool owned) {
  int& failures = failures_[path];
  failures = MayPass(why) ? failures + 1 : kMostFailures;
  if (!absl::IsDataLoss(why) || !owned) return;
  const absl::Status removed = RemoveAll(files, path);
  if (!removed.ok()) MUSTER_LOG(WARN, "could not remove a damaged copy", {"error", removed});
}

bool FailedCopies::IsOffered(const std::string& path) const {
  const auto found = failures_.find(path);
  return found == failures_.end() || found->second < kMostFailures;
}

std::string ChunksOf(const StageCut& cut) {
  if (cut.chunks() == 1) return "";
  return cut.form() == StageForm::kFolded ? "folded" : absl::StrCat(cut.chunks(), " in turn");
}

Json LayoutOfCopy(const CopyPlace& place, const std::string& chunks) {
  Json layout = {{"shard", place.shard.index}, {"shards", place.shard.count}};
  if (place.part.count > 1) {
    layout["part"] = place.part.index;
    layout["parts"] = place.part.count;
  }
  if (place.stage.count > 1) {
    layout["stage"] = place.stage.index;
    layout["stages"] = place.stage.count;
  }
  if (!chunks.empty()) layout["chunks"] = chunks;
  return layout;
}

std::optional<CopyPlace> PlaceOfCopy(const RunRecord& run, const std::string& chunks) {
  const auto number = [&](const char* key, std::optional<int> otherwise) {
    const auto found = run.layout.find(key);
    if (found == run.layout.end()) return otherwise;
    return found->is_number_integer() ? std::optional<int>(found->get<int>()) : std::nullopt;
  };
  const auto shard = number("shard", std::nullopt), shards = number("shards", std::nullopt);
  const auto part = number("part", 0), parts = number("parts", 1);
  const auto stage = number("stage", 0), stages = number("stages", 1);
  const auto recorded = run.layout.find("chunks");
  if ((recorded == run.layout.end() ? Json("") : *recorded) != Json(chunks)) return std::nullopt;
  if (!shard || !shards || *shard < 0 || *shard >= *shards) return std::nullopt;
  if (!part || !parts || *part < 0 || *part >= *parts) return std::nullopt;
  if (!stage || !stages || *stage < 0 || *stage >= *stages) return std::nullopt;
  return CopyPlace{{*part, *parts}, {*shard, *shards}, {*stage, *stages}};
}

}  // namespace muster::trainer
