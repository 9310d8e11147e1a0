// The part of Fleet in which ranks join, step and save.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/api/training_job.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/fleet.h"

namespace muster::control {
namespace {

using v1alpha1::ResumePoint;

constexpr absl::Duration kNotice = absl::Milliseconds(300);
constexpr absl::Duration kJoinPatience = absl::Seconds(1);
constexpr int64_t kSaveEvery = 20;

}  // namespace

// The members of the worker's round, ordered by rank, if all of them are in `phase`; otherwise
// empty.
std::vector<SimAgent*> Fleet::WholeRound(const SimWorker& first, SimAgent::Phase phase) {
  std::vector<SimAgent*> whole;
  for (auto& [uid, worker] : workers_) {
    SimAgent* agent = worker.agent.get();
    if (agent == nullptr || worker.job_uid != first.job_uid) continue;
    if (agent->round != first.agent->round) continue;
    if (agent->phase != phase) return {};
    whole.push_back(agent);
  }
  if (static_cast<int>(whole.size()) != first.agent->place.group_world_size) return {};
  std::sort(whole.begin(), whole.end(), [](const SimAgent* a, const SimAgent* b) {
    return a->place.group_rank < b->place.group_rank;
  });
  return whole;
}

void Fleet::RunTraining() {
  for (auto& [uid, worker] : workers_) {
    SimAgent* agent = worker.agent.get();
    if (agent == nullptr || agent->place.group_world_size == 0) continue;
    if (agent->phase == SimAgent::Phase::kJoining) {
      const auto members = WholeRound(worker, agent->phase);
      if (agent->leads() && !members.empty()) Join(worker.job_uid, members);
      if (members.empty() && now() - agent->phase_since > kJoinPatience) agent->Stall(now());
    } else if (agent->phase == SimAgent::Phase::kRunning) {
      const auto members = WholeRound(worker, agent->phase);
      if (agent->leads() && !members.empty()) Step(worker, members);
      if (members.empty() && now() - agent->phase_since > kNotice) agent->Stall(now());
    }
  }
}

bool Fleet::HolderLives(const std::string& job, int64_t step) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const SimWorker& worker = entry.second;
    return worker.job_uid == job && worker.agent != nullptr &&
           worker.agent->ranks.front().position.applied().step() >= step;
  });
}

void Fleet::Join(const std::string& job, const std::vector<SimAgent*>& members) {
  const ResumePoint& resume = members.front()->go->resume();
  const int64_t round = members.front()->round.round;
  promises_.Resumed(job, round, resume.version().step(),
                    HolderLives(job, promises_.committed(job)));
  for (SimAgent* agent : members) {
    for (SimRank& rank : agent->ranks) {
      rank.position.clear_sealed();
      *rank.position.mutable_applied() = resume.version();
      rank.position.set_history(resume.history());
      rank.joined_once = true;
    }
    agent->phase = SimAgent::Phase::kRunning;
    agent->phase_since = now();
    agent->joined = JoinedReport{agent->round, "", "", resume.version(), agent->trajectory};
  }
}

void Fleet::Step(SimWorker& first, const std::vector<SimAgent*>& members) {
  const std::string& job = first.job_uid;
  if (total_steps_.count(job) == 0) {
    const auto jobs = api_.List(kube::kTrainingJobs, {});
    if (!jobs.ok()) return;
    for (const Json& json : jobs->items) {
      const auto parsed = ParseTrainingJob(json);
      if (parsed.ok()) total_steps_[parsed->uid] = parsed->spec.trainer().train().steps();
    }
    // A job that is not listed was deleted, and its workers do not know yet.
    total_steps_.try_emplace(job, 1 << 30);
  }
  v1alpha1::Version next = members.front()->ranks.front().position.applied();
  next.set_step(next.step() + 1);
  next.set_attempt(members.front()->go->resume().next_attempt());
  if (next.step() <= total_steps_.at(job)) {
    for (SimAgent* agent : members) {
      for (SimRank& rank : agent->ranks) *rank.position.mutable_applied() = next;
    }
    ++steps_done_;
    promises_.Stepped(job, first.agent->round.round, next.step());
  }
  const bool stop = std::any_of(members.begin(), members.end(),
                                [](const SimAgent* agent) { return agent->stop_wanted; });
  const bool end = next.step() >= total_steps_.at(job);
  if (next.step() % kSaveEvery == 0 || stop || end) {
    v1alpha1::CheckpointRef ref;
    ref.set_directory(absl::StrCat("step-", next.step(), ".", next.attempt()));
    *ref.mutable_version() = next;
    ref.set_history(members.front()->go->resume().history());
    checkpoints_[job].push_back(ref);
  }
  if (!stop && !end) return;
  for (SimAgent* agent : members) agent->Finish(true, next.step(), next.step());
}

}  // namespace muster::control
