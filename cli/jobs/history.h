#ifndef MUSTER_CLI_JOBS_HISTORY_H_
#define MUSTER_CLI_JOBS_HISTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "cli/jobs/loss_curve.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::cli {

// All steps of a local run, across restarts of `muster run`: a file with one JSON line per step. A
// step that is redone after a failure replaces its earlier line. A torn last line is dropped. One
// writer, one thread.
class History {
 public:
  // Reads `path` if it exists, and opens it for appending.
  static absl::StatusOr<std::unique_ptr<History>> Open(Files& files, const std::string& path);
  // Opens for reading only.
  static absl::StatusOr<std::unique_ptr<History>> Load(Files& files, const std::string& path);

  // Without a file, when it was opened for reading only, the step is kept in memory.
  absl::Status Add(const v1alpha1::StepReport& step);

  int64_t last_step() const { return steps_.empty() ? 0 : steps_.rbegin()->first; }
  const std::map<int64_t, v1alpha1::StepReport>& steps() const { return steps_; }

  std::vector<LossPoint> Curve() const;
  std::optional<double> last_validation_loss() const;
  std::optional<double> best_validation_loss() const;
  std::optional<double> unigram_entropy() const;
  // Tokens per second over all steps, from their own wall times; 0 if unknown.
  double tokens_per_second() const;

 private:
  History() = default;
  void Keep(const v1alpha1::StepReport& step);

  std::map<int64_t, v1alpha1::StepReport> steps_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_HISTORY_H_
