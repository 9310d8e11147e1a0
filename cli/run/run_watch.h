#ifndef MUSTER_CLI_RUN_RUN_WATCH_H_
#define MUSTER_CLI_RUN_RUN_WATCH_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "cli/jobs/rank_output.h"
#include "cli/run/progress_printer.h"
#include "cli/run/run_session.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// Watches a run from its start to its end: shows the job's progress and output, prints what it
// waits for, and stops it at Ctrl-C (cli/flags/interrupts.h), at a second one without a checkpoint.
// Not thread-safe.
class RunWatch {
 public:
  // `session` and `output` must outlive it. If `quiet`, no progress is shown.
  RunWatch(RunSession& session, RankOutput& output, bool quiet)
      : session_(session), output_(output), printer_(quiet) {}

  // Calls `begun` once the job trains, or has ended in a way that leaves something to go on with.
  void OnceItTrains(std::function<void()> begun) { begun_ = std::move(begun); }

  // Runs until the job is over, can never run here, or is killed by a second Ctrl-C. Reports that
  // (cli/run/run_outcome.h) and returns the exit code; an error if the session fails meanwhile.
  absl::StatusOr<int> Run();

 private:
  // Returns the exit code when the run has ended.
  absl::StatusOr<std::optional<int>> RunOnce();
  void Begin();
  int Finish(const control::TrainingJob& job);
  void ShowOutput(const control::TrainingJob& job);
  void ShowWait(const control::TrainingJob& job);
  absl::Status AskToStop();
  double WallSeconds(const control::TrainingJob& job) const;

  RunSession& session_;
  RankOutput& output_;
  ProgressPrinter printer_;
  // The start of the watch, on both clocks.
  const absl::Time wall_start_ = Clock::Real().Wall();
  const absl::Time monotonic_start_ = Clock::Real().Monotonic();
  std::function<void()> begun_;
  bool has_trained_ = false;
  bool asked_to_stop_ = false;
  std::string shown_wait_;  // what was last printed about a wait
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_RUN_WATCH_H_
