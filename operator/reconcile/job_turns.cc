#include "operator/reconcile/job_turns.h"

#include <algorithm>

namespace muster::control {

absl::Time ProgressBudget::Reserve(absl::Time now) {
  MutexLock lock(mu_);
  paid_until_ = std::max(paid_until_, now - (kBurst - 1) * kInterval);
  const absl::Time turn = std::max(now, paid_until_);
  paid_until_ += kInterval;
  return turn;
}

bool SaveTurns::Update(const std::string& job_uid, const std::string& storage, SaveTurn turn,
                       absl::Time now) {
  if (most_ == 0) return true;
  MutexLock lock(mu_);
  std::erase_if(jobs_, [&](const Job& job) {
    const bool same = job.uid == job_uid;
    if (same && (turn == SaveTurn::kNone || job.storage != storage)) return true;
    return !same && now - job.heard > (job.has_turn ? kTurnKept : kPlaceKept);
  });
  if (turn == SaveTurn::kNone) return false;
  const auto is_this = [&](const Job& job) { return job.uid == job_uid; };
  auto job = std::find_if(jobs_.begin(), jobs_.end(), is_this);
  if (job == jobs_.end()) job = jobs_.insert(job, Job{.uid = job_uid, .storage = storage});
  job->heard = now;
  // Jobs that write without having waited stand anywhere in the line.
  const auto comes_first = [&](const Job& other) {
    return other.storage == storage && (other.has_turn || &other < &*job);
  };
  const auto first = std::count_if(jobs_.begin(), jobs_.end(), comes_first);
  job->has_turn = job->has_turn || turn == SaveTurn::kTaken || first < most_;
  return job->has_turn;
}

void SaveTurns::Forget(const std::string& job_uid) {
  MutexLock lock(mu_);
  std::erase_if(jobs_, [&](const Job& job) { return job.uid == job_uid; });
}

int SaveTurns::Waiting() const {
  MutexLock lock(mu_);
  return static_cast<int>(
      std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return !job.has_turn; }));
}

}  // namespace muster::control
