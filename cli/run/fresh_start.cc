#include "cli/run/fresh_start.h"

#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::cli {
namespace {

constexpr int kPutBackAttempts = 3;

absl::Status CheckSource(Files& files, const char* field, const std::string& path) {
  if (path.empty() || absl::StrContains(path, "://")) return absl::OkStatus();
  const auto wrong = [&](const absl::Status& why) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", why.message()));
  };
  const auto found = files.Stat(path);
  if (!found.ok()) return wrong(found.status());
  if (found->kind == FileKind::kFile) {
    const auto opened = files.Open(path);
    return opened.ok() ? absl::OkStatus() : wrong(opened.status());
  }
  const auto entries = files.List(path);
  if (!entries.ok()) return wrong(entries.status());
  if (entries->empty()) return wrong(absl::NotFoundError(absl::StrCat(path, " is empty")));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<FreshStart>> FreshStart::Begin(Files& files, const JobPaths& paths) {
  std::unique_ptr<FreshStart> fresh(new FreshStart(files, paths));
  if (Exists(files, paths.folder())) {
    MUSTER_ASSIGN_OR_RETURN(fresh->moved_to_, MoveJobAway(files, paths));
  }
  return fresh;
}

absl::Status FreshStart::SetAside(const CheckpointPlace& place) {
  MUSTER_ASSIGN_OR_RETURN(storage_, OpenPlace(place));
  directory_ = place.uri;
  MUSTER_ASSIGN_OR_RETURN(aside_, SetCheckpointsAside(*storage_, directory_));
  return absl::OkStatus();
}

void FreshStart::Commit() {
  committed_ = true;
  std::string kept = aside_.where;
  if (!moved_to_.empty()) {
    const std::string own = DropMovedJob(files_, paths_, moved_to_);
    if (kept.empty()) kept = own;
  }
  if (kept.empty()) return;
  std::fprintf(stderr, "muster: earlier checkpoints are kept in %s\n", kept.c_str());
}

FreshStart::~FreshStart() {
  if (committed_) return;
  absl::Status back = PutBack();
  for (int i = 1; i < kPutBackAttempts && !back.ok(); ++i) back = PutBack();
  if (!back.ok()) {
    std::fprintf(stderr, "muster: the earlier job %s could not be put back: %s\n",
                 paths_.job.c_str(), std::string(back.message()).c_str());
    if (Exists(files_, moved_to_)) {
      std::fprintf(stderr, "muster: its state is in %s\n", moved_to_.c_str());
    }
    if (aside_.where != "" && Exists(*storage_, aside_.where)) {
      std::fprintf(stderr, "muster: its checkpoints are in %s\n", aside_.where.c_str());
    }
    return;
  }
  if (moved_to_.empty() && aside_.where.empty()) return;
  std::fprintf(stderr, "muster: nothing was begun anew: the earlier job %s is as it was before\n",
               paths_.job.c_str());
}

absl::Status FreshStart::PutBack() {
  absl::Status back;
  if (storage_ != nullptr) back.Update(PutCheckpointsBack(*storage_, directory_, aside_));
  if (moved_to_.empty()) return back;
  back.Update(PutJobBack(files_, paths_, moved_to_));
  return back;
}

absl::Status CheckSources(Files& files, const control::TrainingJob& job) {
  if (!job.spec.has_trainer()) return absl::OkStatus();
  const v1alpha1::TrainerSpec& trainer = job.spec.trainer();
  const std::pair<const char*, std::string> sources[] = {
      {"spec.trainer.data.uri", trainer.data().uri()},
      {"spec.trainer.data.tokenizer.uri", trainer.data().tokenizer().uri()},
      {"spec.trainer.model.uri", trainer.model().uri()},
      {"spec.trainer.model.torchScript", trainer.model().torch_script()},
  };
  for (const auto& [field, path] : sources) {
    MUSTER_RETURN_IF_ERROR(CheckSource(files, field, path));
  }
  return absl::OkStatus();
}

}  // namespace muster::cli
