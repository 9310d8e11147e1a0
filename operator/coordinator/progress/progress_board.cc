#include "operator/coordinator/progress/progress_board.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "proto/muster/v1alpha1/phase_times.h"

namespace muster::control {
namespace {

// Speeds are computed over at most this many newest steps and this many microseconds.
constexpr size_t kSpeedSteps = 64;
constexpr int64_t kSpeedWindowUs = 15'000'000;

TrainedStep ToTrainedStep(const v1alpha1::StepReport& report) {
  TrainedStep step;
  step.step = report.version().step();
  // A step without a loss counts as applied.
  if (!std::isnan(report.loss()) || !report.applied()) step.loss = report.loss();
  step.tokens = report.tokens();
  step.finished_at_us = report.finished_at_us();
  return step;
}

}  // namespace

void SlowestRankCounter::Add(int64_t round, const v1alpha1::StepReport& step) {
  if (round != round_) *this = {};
  round_ = round;
  if (!(step.mean_busy_seconds() > 0)) return;
  // A clock that was set back begins a window, too.
  const int64_t at = step.finished_at_us();
  if (since_us_ == 0 || at < since_us_) {
    slowest_.clear();
    steps_ = 0;
    mean_ = longest_ = 0;
    since_us_ = at;
  }
  ++steps_;
  ++slowest_[step.slowest_rank()];
  mean_ += step.mean_busy_seconds();
  longest_ += step.longest_busy_seconds();
  if (at - since_us_ >= kWindowUs) EndWindow(at);
}

void SlowestRankCounter::EndWindow(int64_t end_us) {
  // The first step began before the window, which begins with its end.
  const double steps = static_cast<double>(steps_);
  const double busy = mean_ * (steps - 1) / steps;
  const double seconds = static_cast<double>(end_us - since_us_) * 1e-6;
  const auto most =
      std::max_element(slowest_.begin(), slowest_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  last_ = SlowestRank{
      .round = round_,
      .rank = most->first,
      .steps = steps_,
      .share = static_cast<double>(most->second) / steps,
      .factor = std::max(1.0, longest_ / mean_),
      .busy = std::min(1.0, busy / seconds),
  };
  since_us_ = 0;
}

void ProgressBoard::RewindTo(Job& job, int64_t step) {
  while (!job.recent.empty() && job.recent.back().version().step() >= step) job.recent.pop_back();
  while (!job.curve.empty() && job.curve.back().step >= step) job.curve.pop_back();
  while (!job.validations.empty() && job.validations.back().step >= step) {
    job.validations.pop_back();
  }
  // The step of the lowest loss before these is not known, so it may be one that was taken back.
  if (job.validations.empty()) job.best_validation_before.reset();
}

void ProgressBoard::AddValidation(Job& job, const v1alpha1::StepReport& step) {
  if (!step.has_validation_loss()) return;
  job.validations.push_back({step.version().step(), step.validation_loss()});
  if (job.validations.size() <= TrainingHistory::kValidations) return;
  const double oldest = job.validations.front().loss;
  job.validations.pop_front();
  if (!std::isfinite(oldest)) return;
  job.best_validation_before = std::min(job.best_validation_before.value_or(oldest), oldest);
}

void ProgressBoard::AddStep(Job& job, const v1alpha1::StepReport& step) {
  job.recent.push_back(step);
  if (job.recent.size() > kRecentSteps) job.recent.pop_front();
  AddValidation(job, step);
  ProgressSnapshot& snapshot = job.snapshot;
  snapshot.last_step = step;
  if (step.has_validation_loss()) snapshot.validation_loss = step.validation_loss();
  if (step.applied() && std::isfinite(step.loss()) &&
      (!snapshot.best_loss || step.loss() < *snapshot.best_loss)) {
    snapshot.best_loss = step.loss();
  }
  snapshot.times = Sum(snapshot.times, step.times());
  snapshot.mean_busy_seconds += step.mean_busy_seconds();
  snapshot.longest_busy_seconds += step.longest_busy_seconds();
  ++snapshot.steps_seen;
  job.slowest.Add(job.round, step);
  snapshot.slowest = job.slowest.last();
  AddTuning(snapshot, step);
  if (!step.spike().empty()) snapshot.last_spike = step;
  AddToCurve(job, step);
}

// Steps that are done again report the same tunings again.
void ProgressBoard::AddTuning(ProgressSnapshot& snapshot, const v1alpha1::StepReport& step) {
  if (step.tunings() < 1 || !step.has_tuning()) return;
  const auto in_force = static_cast<size_t>(step.tunings());
  if (snapshot.tunings.size() < in_force) snapshot.tunings.resize(in_force);
  v1alpha1::Tuning& newest = snapshot.tunings[in_force - 1];
  if (newest.step() == 0) newest = step.tuning();
}

void ProgressBoard::AddToCurve(Job& job, const v1alpha1::StepReport& step) {
  Sampling& sampling = step.has_validation_loss() ? job.validated : job.plain;
  if (sampling.seen++ % sampling.stride != 0) return;
  CurvePoint point{step.version().step(), step.loss(), std::nullopt, step.finished_at_us()};
  if (step.has_validation_loss()) point.validation_loss = step.validation_loss();
  job.curve.push_back(point);
  if (job.curve.size() > kCurvePoints) ThinCurve(job);
}

// Drops every second point of the kind that has more of them. So a stride is doubled only after
// many reports have been seen at the last one, and no number of reports can make it overflow.
void ProgressBoard::ThinCurve(Job& job) {
  const auto is_validated = [](const CurvePoint& p) { return p.validation_loss.has_value(); };
  const auto validated = std::count_if(job.curve.begin(), job.curve.end(), is_validated);
  const bool thins_validated = static_cast<size_t>(validated) * 2 > job.curve.size();
  size_t place = 0;
  std::erase_if(job.curve, [&](const CurvePoint& point) {
    return is_validated(point) == thins_validated && place++ % 2 != 0;
  });
  (thins_validated ? job.validated : job.plain).stride *= 2;
}

void ProgressBoard::UpdateSpeed(Job& job) {
  job.snapshot.tokens_per_second = 0;
  job.snapshot.steps_per_second = 0;
  if (job.recent.empty()) return;
  const int64_t end = job.recent.back().finished_at_us();
  int64_t start = end;
  int64_t tokens = 0;
  int64_t steps = 0;
  size_t reports = 0;
  int64_t pending = job.recent.back().tokens();
  for (auto it = std::next(job.recent.rbegin()); it != job.recent.rend(); ++it) {
    const int64_t at = it->finished_at_us();
    if (it->version().step() < job.speed_from || reports++ >= kSpeedSteps) break;
    if (at > start || end - at > kSpeedWindowUs) break;  // also if a clock was set back
    tokens += pending;
    pending = it->tokens();
    start = at;
    // A command may report every tenth step only.
    steps = job.recent.back().version().step() - it->version().step();
  }
  if (start >= end) return;
  const double seconds = static_cast<double>(end - start) / 1e6;
  job.snapshot.tokens_per_second = static_cast<double>(tokens) / seconds;
  job.snapshot.steps_per_second = static_cast<double>(steps) / seconds;
}

void ProgressBoard::RecordSteps(const std::string& job_uid, const v1alpha1::StepReports& reports) {
  if (reports.steps().empty()) return;
  MutexLock lock(mu_);
  Job& job = jobs_[job_uid];
  if (reports.round().round() < job.round) return;
  const bool new_round = reports.round().round() > job.round;
  if (new_round) {
    job.round = reports.round().round();
    job.speed_from = reports.steps(0).version().step();
    RewindTo(job, reports.steps(0).version().step());
  }
  for (const v1alpha1::StepReport& step : reports.steps()) {
    // Steps only grow within a round, so a step that is not newer was sent again.
    if (!job.recent.empty() && step.version().step() <= job.recent.back().version().step()) {
      continue;
    }
    AddStep(job, step);
  }
  UpdateSpeed(job);
}

void ProgressBoard::RecordCheckpoint(const std::string& job_uid,
                                     const v1alpha1::CheckpointReport& report) {
  MutexLock lock(mu_);
  ProgressSnapshot& snapshot = jobs_[job_uid].snapshot;
  snapshot.save_begun.reset();
  if (report.phase() == v1alpha1::CheckpointReport::STARTED) {
    snapshot.save_begun = report;
  } else if (report.phase() == v1alpha1::CheckpointReport::WRITTEN) {
    snapshot.last_written = report;
    snapshot.last_failed.reset();
  } else if (report.phase() == v1alpha1::CheckpointReport::FAILED) {
    snapshot.last_failed = report;
  }
}

ProgressSnapshot ProgressBoard::Snapshot(const std::string& job_uid) const {
  MutexLock lock(mu_);
  const auto it = jobs_.find(job_uid);
  return it == jobs_.end() ? ProgressSnapshot{} : it->second.snapshot;
}

std::vector<v1alpha1::StepReport> ProgressBoard::StepsSince(const std::string& job_uid,
                                                            int64_t after_step,
                                                            size_t limit) const {
  MutexLock lock(mu_);
  std::vector<v1alpha1::StepReport> steps;
  const auto it = jobs_.find(job_uid);
  if (it == jobs_.end()) return steps;
  const auto& recent = it->second.recent;
  auto from = std::upper_bound(
      recent.begin(), recent.end(), after_step,
      [](int64_t after, const auto& step) { return after < step.version().step(); });
  for (; from != recent.end() && steps.size() < limit; ++from) steps.push_back(*from);
  return steps;
}

TrainingHistory ProgressBoard::History(const std::string& job_uid, int64_t round,
                                       int64_t after_step) const {
  MutexLock lock(mu_);
  TrainingHistory history;
  const auto it = jobs_.find(job_uid);
  if (it == jobs_.end()) return history;
  const Job& job = it->second;
  history.round = job.round;
  history.first_step = job.speed_from;
  const int64_t seen = round == job.round ? after_step : job.speed_from - 1;
  const auto from = std::upper_bound(
      job.recent.begin(), job.recent.end(), seen,
      [](int64_t after, const auto& step) { return after < step.version().step(); });
  const auto before = std::min<size_t>(static_cast<size_t>(from - job.recent.begin()),
                                       TrainingHistory::kStepsBefore);
  history.steps.reserve(before + static_cast<size_t>(job.recent.end() - from));
  for (auto step = from - static_cast<std::ptrdiff_t>(before); step != job.recent.end(); ++step) {
    history.steps.push_back(ToTrainedStep(*step));
  }
  history.validations.assign(job.validations.begin(), job.validations.end());
  history.best_before = job.best_validation_before;
  return history;
}

std::vector<CurvePoint> ProgressBoard::Curve(const std::string& job_uid) const {
  MutexLock lock(mu_);
  const auto it = jobs_.find(job_uid);
  return it == jobs_.end() ? std::vector<CurvePoint>{} : it->second.curve;
}

void ProgressBoard::Settle(const std::string& job_uid) {
  MutexLock lock(mu_);
  const auto it = jobs_.find(job_uid);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  std::deque<v1alpha1::StepReport>().swap(job.recent);
  std::deque<ValidationPoint>().swap(job.validations);
  const size_t stride = (job.curve.size() + kSettledPoints - 1) / kSettledPoints;
  std::vector<CurvePoint> thinned;
  thinned.reserve(std::min(job.curve.size(), kSettledPoints));
  // Thins from the end, so that the last point stays.
  for (size_t i = 0; i < job.curve.size(); i += stride) {
    thinned.push_back(job.curve[job.curve.size() - 1 - i]);
  }
  std::reverse(thinned.begin(), thinned.end());
  job.curve = std::move(thinned);
}

void ProgressBoard::Forget(const std::string& job_uid) {
  MutexLock lock(mu_);
  jobs_.erase(job_uid);
}

}  // namespace muster::control
