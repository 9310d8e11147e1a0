// The faults that tests ask Fleet for.
#include <algorithm>

#include "tests/simulation/fleet.h"

namespace muster::control {

void Fleet::KillAgent(const std::string& job_uid, int index) {
  SimWorker* worker = Find(job_uid, index);
  if (worker == nullptr) return;
  Leave(*worker);
  worker->agent.reset();
}

void Fleet::KillRank(const std::string& job_uid, int index, bool restart) {
  SimWorker* worker = Find(job_uid, index);
  if (worker == nullptr) return;
  worker->agent->KillRank(0, 137, now(), restart);
}

void Fleet::StopRanks(const std::string& job_uid, int index, absl::Duration length) {
  SimWorker* worker = Find(job_uid, index);
  if (worker == nullptr) return;
  worker->stopped_since = now();
  worker->stopped_until = now() + length;
}

// The agent of a worker whose ranks stood still for too long kills them.
void Fleet::EndStop(SimWorker& worker) {
  if (now() < worker.stopped_until && now() - worker.stopped_since >= kRankDeadline) {
    worker.stopped_until = absl::InfinitePast();
    worker.agent->KillRank(0, 137, now(), /*restart=*/true);
  }
}

void Fleet::Cut(const std::string& job_uid, int index, absl::Duration length) {
  SimWorker* worker = Find(job_uid, index);
  if (worker != nullptr) worker->cut_until = now() + length;
}

void Fleet::CutNode(const std::string& node, absl::Duration length) {
  cut_nodes_[node] = now() + length;
  for (auto& [uid, worker] : workers_) {
    if (worker.node == node) worker.cut_until = now() + length;
  }
}

void Fleet::Mend() {
  cut_nodes_.clear();
  for (auto& [uid, worker] : workers_) worker.cut_until = absl::InfinitePast();
  storage_away_until_ = absl::InfinitePast();
}

void Fleet::LoseNode(const std::string& node) {
  lost_nodes_.insert(node);
  for (auto& [uid, worker] : workers_) {
    if (worker.node != node || worker.agent == nullptr) continue;
    Leave(worker);
    worker.agent.reset();
  }
}

bool Fleet::RuinCheckpoint(const std::string& job_uid) {
  const auto& saved = checkpoints_[job_uid];
  std::set<std::string>& ruined = ruined_[job_uid];
  const auto older = [&](const v1alpha1::CheckpointRef& ref) {
    return &ref != &saved.back() && ruined.count(ref.directory()) == 0 &&
           ref.history() == saved.back().history();
  };
  if (!std::any_of(saved.begin(), saved.end(), older)) return false;
  return ruined.insert(saved.back().directory()).second;
}

}  // namespace muster::control
