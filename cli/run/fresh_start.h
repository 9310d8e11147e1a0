#ifndef MUSTER_CLI_RUN_FRESH_START_H_
#define MUSTER_CLI_RUN_FRESH_START_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/checkpoint_place.h"
#include "cli/jobs/job_removal.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// Moves the earlier job of the same name out of the way of one that starts anew (`muster run
// --fresh`). Until Commit() this can be undone: the destructor puts the earlier job's state and
// checkpoints back, and removes the state that the new job has written. Used by one thread.
class FreshStart {
 public:
  // Moves the earlier job's state away, if it exists. FailedPrecondition while another process runs
  // that job. After an error everything is in its old place, but the job's workers have ended.
  static absl::StatusOr<std::unique_ptr<FreshStart>> Begin(Files& files, const JobPaths& paths);
  ~FreshStart();

  // Sets the checkpoints in `place` aside, so that the new job does not resume from them.
  absl::Status SetAside(const CheckpointPlace& place);
  // Called when the new job has begun to train: removes the earlier one for good, and prints where
  // its checkpoints are kept.
  void Commit();

 private:
  FreshStart(Files& files, JobPaths paths) : files_(files), paths_(std::move(paths)) {}
  absl::Status PutBack();

  Files& files_;
  const JobPaths paths_;
  std::string moved_to_;  // the earlier job's folder; empty without one
  std::shared_ptr<Files> storage_;
  std::string directory_;  // of checkpoints
  AsideCheckpoints aside_;
  bool committed_ = false;
};

// Returns why the data, tokenizer or model of a trainer cannot be read on this machine, with the
// field; OK if they are there, or are not files.
absl::Status CheckSources(Files& files, const control::TrainingJob& job);

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_FRESH_START_H_
