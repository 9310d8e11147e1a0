#include "operator/scheduler/record/decision_recorder.h"

#include <utility>

#include "base/logging.h"
#include "operator/queue/record/decision_record.h"

namespace muster::control {

DecisionRecorder::DecisionRecorder(DecisionRing ring)
    : next_id_(ring.next_id()), ring_(std::move(ring)) {}

uint64_t DecisionRecorder::Note(DecisionInput input, const std::vector<Decision>& decisions) {
  if (decisions.empty()) return 0;
  std::string outcome = EncodeOutcome(decisions);
  MutexLock lock(mu_);
  if (outcome == last_outcome_) return last_id_;
  last_outcome_ = std::move(outcome);
  last_id_ = next_id_++;
  if (waiting_.size() >= kMaxWaiting || stopped_) {
    ++dropped_;
  } else {
    waiting_.push_back({last_id_, std::move(input), decisions});
    added_.NotifyOne();
  }
  return last_id_;
}

bool DecisionRecorder::RunOnce() {
  Waiting next;
  {
    MutexLock lock(mu_);
    if (waiting_.empty()) return false;
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  Write(next);
  return true;
}

bool DecisionRecorder::WaitAndRun() {
  {
    MutexLock lock(mu_);
    while (waiting_.empty() && !stopped_) added_.Wait(mu_);
  }
  return RunOnce();
}

void DecisionRecorder::Shutdown() {
  MutexLock lock(mu_);
  stopped_ = true;
  added_.NotifyAll();
}

void DecisionRecorder::Write(const Waiting& waiting) {
  absl::Status written;
  {
    const std::string record = EncodeRecord(waiting.id, waiting.input, waiting.decisions);
    MutexLock lock(ring_mu_);
    written = ring_.Add(waiting.id, record);
    if (!written.ok() && !failing_) {
      MUSTER_LOG(WARN, "decisions are not kept", {"decision", waiting.id}, {"error", written});
    }
    if (written.ok() && failing_) {
      MUSTER_LOG(INFO, "decisions are kept again", {"decision", waiting.id});
    }
    failing_ = !written.ok();
  }
  MutexLock lock(mu_);
  ++(written.ok() ? kept_ : dropped_);
}

int64_t DecisionRecorder::kept() const {
  MutexLock lock(mu_);
  return kept_;
}

int64_t DecisionRecorder::dropped() const {
  MutexLock lock(mu_);
  return dropped_;
}

std::vector<Decision> DecisionNotes::Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                                              const ScheduleOptions& options) {
  if (recorder_ == nullptr) return control::Schedule(now, tree, book, options);
  DecisionInput input;
  std::vector<Decision> decisions = ScheduleAndCapture(now, tree, book, options, input);
  const uint64_t id = recorder_->Note(std::move(input), decisions);
  for (const Decision& decision : decisions) decided_in_[decision.job] = id;
  return decisions;
}

uint64_t DecisionNotes::DecisionOf(const std::string& job_uid) const {
  const auto found = decided_in_.find(job_uid);
  return found == decided_in_.end() ? 0 : found->second;
}

void DecisionNotes::Forget(const std::function<bool(const std::string&)>& is_gone) {
  std::erase_if(decided_in_, [&](const auto& entry) { return is_gone(entry.first); });
}

}  // namespace muster::control
