#ifndef MUSTER_CLI_JOBS_TUNE_WORDS_H_
#define MUSTER_CLI_JOBS_TUNE_WORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "operator/api/training_job.h"
#include "operator/api/tune_request.h"

// The words that `muster tune` and `kubectl muster tune` read and say. Pure, but for the
// environment.
namespace muster::cli {

// The flags of both: --from-step and --wait.
std::vector<FlagSpec> TuneOnlyFlags();

// The job and the change in `tune JOB learningRate=1e-4 [clipNorm=0.5] [globalBatch=512]`, with its
// flags. InvalidArgument names the word that is wrong, and says what would be right.
struct TuneCall {
  std::string job;
  control::TuneRequest request;
  bool wait = false;
};
absl::StatusOr<TuneCall> ReadTuneCall(const Flags& flags);

// Returns the name of the person who calls: `user` if it is not empty, else $USER.
std::string CallerName(const std::string& user);

// Returns the sentence about the change in the given place of spec.trainer.tunings if it is in
// force, and nullopt while it is awaited. FailedPrecondition if the job has ended or stopped
// before.
absl::StatusOr<std::optional<std::string>> InForce(const control::TrainingJob& job, int place);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_TUNE_WORDS_H_
