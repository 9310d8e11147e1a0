#include "trainer/engine/store/kept_replicas.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/commit/held_places.h"
#include "trainer/commit/version.h"
#include "trainer/engine/link/tensor_bytes.h"
#include "trainer/engine/store/copy_folder.h"

namespace muster::trainer {
namespace {

// As many as RankPosition.replicas may have.
constexpr int kMostListed = 4;

std::string PathOf(const std::string& folder, const v1alpha1::Version& version) {
  return JoinPath(folder, CheckpointName(version.step()));
}

}  // namespace

class KeptReplicas::Slice final : public StoredSlice {
 public:
  Slice(KeptReplicas& replicas, std::unique_ptr<CheckpointReader> reader)
      : replicas_(replicas), reader_(std::move(reader)) {}

  absl::Status Read(const std::string& name, int64_t elements, int64_t begin,
                    const at::Tensor& into) override {
    auto* bytes = static_cast<std::byte*>(into.mutable_data_ptr());
    const absl::Status read = reader_->ReadPart(
        name, TypeOf(into), {elements}, static_cast<uint64_t>(begin), {bytes, into.nbytes()});
    if (read.ok()) {
      replicas_.bytes_read_ += static_cast<int64_t>(into.nbytes());
    } else {
      replicas_.Refuse(reader_->path(), read);
    }
    return read;
  }

 private:
  KeptReplicas& replicas_;
  const std::unique_ptr<CheckpointReader> reader_;
};

void KeptReplicas::SetFolders(std::vector<std::string> folders) {
  folders_ = std::move(folders);
  bytes_read_ = 0;
}

void KeptReplicas::AddTo(v1alpha1::RankPosition& position) const {
  const CopyPlace own = ToPlace(position.slice());
  for (const std::string& folder : folders_) {
    for (v1alpha1::StateCopy& replica : ListCopies(files_, folder, job_uid_, chunks_)) {
      if (position.replicas_size() >= kMostListed) return;
      if (!failed_.IsOffered(PathOf(folder, replica.version()))) continue;
      if (!ToPlace(replica.slice()).IsOfModelOf(own)) continue;
      *position.add_replicas() = std::move(replica);
    }
  }
}

// The agent's folders are not written to, but no later round, nor process, must choose an own copy
// that is damaged.
void KeptReplicas::Refuse(const std::string& path, const absl::Status& why) {
  failed_.Note(files_, path, why, absl::StartsWith(path, absl::StrCat(own_folder_, "/")));
}

absl::StatusOr<std::unique_ptr<StoredSlice>> KeptReplicas::Open(const v1alpha1::Version& version,
                                                                const CopyPlace& place) {
  std::vector<std::string> folders = folders_;
  folders.push_back(own_folder_);
  for (const std::string& folder : folders) {
    const std::string path = PathOf(folder, version);
    auto reader = CheckpointReader::Open(files_, path);
    if (!reader.ok()) continue;
    const RunRecord& run = (*reader)->manifest().run;
    const std::optional<CopyPlace> held = PlaceOfCopy(run, chunks_);
    if (run.step != version.step() || run.attempt != version.attempt() || held != place) continue;
    return std::make_unique<Slice>(*this, *std::move(reader));
  }
  return absl::NotFoundError(absl::StrCat("no replica of shard ", place.index(), " of ",
                                          place.count(), " of ", ToText(version),
                                          " is kept on this worker"));
}

}  // namespace muster::trainer
