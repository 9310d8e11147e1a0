#ifndef MUSTER_OPERATOR_COORDINATOR_PROGRESS_PROGRESS_BOARD_H_
#define MUSTER_OPERATOR_COORDINATOR_PROGRESS_PROGRESS_BOARD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "operator/alerts/training_history.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {

// The rank that was the busiest in most of the steps of some minutes.
struct SlowestRank {
  int64_t round = 0;
  int rank = 0;
  int64_t steps = 0;  // that were counted
  double share = 0;   // of them, those in which it was the busiest: (0, 1]
  double factor = 1;  // the time of the busiest rank of a step, in times of the mean; >= 1
  double busy = 0;    // the part of the window's time in which the ranks were busy, in the mean
};

// Counts which rank makes the others wait, over windows of five minutes of one round. Not
// thread-safe.
class SlowestRankCounter {
 public:
  static constexpr int64_t kWindowUs = int64_t{5} * 60 * 1'000'000;

  // `step` must be of `round`; a step of a later round begins anew.
  void Add(int64_t round, const v1alpha1::StepReport& step);
  // Returns the outcome of the last whole window of the newest round; nothing before there is one,
  // or if ranks do not say how long they were busy.
  const std::optional<SlowestRank>& last() const { return last_; }

 private:
  void EndWindow(int64_t end_us);

  int64_t round_ = 0;
  int64_t since_us_ = 0;  // 0: no step of this window yet
  int64_t steps_ = 0;
  std::map<int, int64_t> slowest_;  // rank -> steps in which it was
  double mean_ = 0, longest_ = 0;
  std::optional<SlowestRank> last_;
};

// A job's live figures: its speeds, losses and busy times, its newest step and its newest saves.
struct ProgressSnapshot {
  std::optional<v1alpha1::StepReport> last_step;
  std::optional<double> validation_loss;  // the newest one
  std::optional<double> best_loss;
  // Speeds over the last seconds of steps; 0 with fewer than two steps.
  double tokens_per_second = 0;
  double steps_per_second = 0;
  std::optional<v1alpha1::CheckpointReport> last_written;
  std::optional<v1alpha1::CheckpointReport> last_failed;
  std::optional<v1alpha1::CheckpointReport> save_begun;  // absent once it is written or has failed
  // Phase times in seconds, summed over all steps reported since this operator started.
  v1alpha1::PhaseTimes times;
  // Busy times of the ranks, summed over the same steps: the mean rank's, and the busiest rank's.
  double mean_busy_seconds = 0;
  double longest_busy_seconds = 0;
  int64_t steps_seen = 0;
  std::optional<SlowestRank> slowest;
  // The job's tunings that were seen in force, in order, in whatever round; step 0: only a later
  // one was seen.
  std::vector<v1alpha1::Tuning> tunings;
  std::optional<v1alpha1::StepReport> last_spike;  // the newest report that says why
};

struct CurvePoint {
  int64_t step = 0;
  double loss = 0;
  std::optional<double> validation_loss;
  int64_t finished_at_us = 0;
};

// Stores step and checkpoint reports by the job's UID, in memory only and bounded per job; they
// never reach the API server. A round that resumes from an older step removes the newer points.
// Step reports of a superseded round are dropped. Thread-safe.
class ProgressBoard {
 public:
  static constexpr size_t kRecentSteps = 2048;
  static constexpr size_t kCurvePoints = 2048;
  static constexpr size_t kSettledPoints = 256;

  void RecordSteps(const std::string& job_uid, const v1alpha1::StepReports& reports);
  void RecordCheckpoint(const std::string& job_uid, const v1alpha1::CheckpointReport& report);

  ProgressSnapshot Snapshot(const std::string& job_uid) const;
  // Returns the steps after `after_step`, oldest first, at most `limit` of those still remembered.
  std::vector<v1alpha1::StepReport> StepsSince(const std::string& job_uid, int64_t after_step,
                                               size_t limit) const;
  // Returns the input of alert rules: the steps after `after_step` if `round` is the newest round,
  // else all of the newest round, preceded by up to TrainingHistory::kStepsBefore earlier steps.
  TrainingHistory History(const std::string& job_uid, int64_t round, int64_t after_step) const;
  // Returns the loss curve of the whole run, thinned to at most kCurvePoints points.
  std::vector<CurvePoint> Curve(const std::string& job_uid) const;

  // Shrinks the record of a job that has ended and sends no more reports: its newest figures stay,
  // and at most kSettledPoints points of its curve.
  void Settle(const std::string& job_uid);
  void Forget(const std::string& job_uid);

 private:
  // Chooses the reports of one kind that become points of the curve: every `stride`th. It counts
  // reports, because the step numbers of reports may jump.
  struct Sampling {
    uint64_t seen = 0;
    uint64_t stride = 1;
  };
  struct Job {
    int64_t round = 0;
    int64_t speed_from = 0;  // the first step of `round`
    std::deque<v1alpha1::StepReport> recent;
    std::deque<ValidationPoint> validations;       // the lowest loss dropped from `validations`
    std::optional<double> best_validation_before;  // the lowest dropped from these
    std::vector<CurvePoint> curve;
    Sampling plain, validated;  // for steps without a validation loss, and with one
    SlowestRankCounter slowest;
    ProgressSnapshot snapshot;
  };

  static void RewindTo(Job& job, int64_t step);
  static void AddValidation(Job& job, const v1alpha1::StepReport& step);
  static void AddStep(Job& job, const v1alpha1::StepReport& step);
  static void AddTuning(ProgressSnapshot& snapshot, const v1alpha1::StepReport& step);
  static void AddToCurve(Job& job, const v1alpha1::StepReport& step);
  static void ThinCurve(Job& job);
  static void UpdateSpeed(Job& job);

  mutable Mutex mu_;
  std::map<std::string, Job> jobs_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_PROGRESS_PROGRESS_BOARD_H_
