// The part of SimWorld in which ranks join and step: a faithful, tiny model of the commit vote.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/testing/sim_world.h"

namespace muster::control {
namespace {

using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;

constexpr absl::Duration kNotice = absl::Milliseconds(200);

v1alpha1::Version MakeVersion(int64_t step, int64_t attempt) {
  v1alpha1::Version version;
  version.set_step(step);
  version.set_attempt(attempt);
  return version;
}

bool Same(const v1alpha1::Version& a, const v1alpha1::Version& b) {
  return a.step() == b.step() && a.attempt() == b.attempt();
}

void See(RankPosition& position, const v1alpha1::Version& version) {
  v1alpha1::StepDecision decision;
  *decision.mutable_version() = version;
  decision.set_apply(true);
  position.clear_decisions();
  *position.add_decisions() = decision;
}

void Apply(RankPosition& position) {
  *position.mutable_applied() = position.sealed();
  position.clear_sealed();
}

std::vector<SimRank*> RanksOf(const std::vector<SimAgent*>& members) {
  std::vector<SimRank*> ranks;
  for (SimAgent* agent : members) {
    for (SimRank& rank : agent->ranks) ranks.push_back(&rank);
  }
  return ranks;
}

}  // namespace

// Returns the members of `first`'s round if every one is in `phase` of it and alive, else none.
std::vector<SimAgent*> SimWorld::WholeRound(const SimAgent& first, SimAgent::Phase phase) {
  std::vector<SimAgent*> whole;
  for (auto& [name, pod] : pods_) {
    SimAgent* member = pod.agent.get();
    if (member == nullptr || member->round != first.round) continue;
    if (member->phase != phase) return {};
    for (const SimRank& rank : member->ranks) {
      if (!rank.alive) return {};
    }
    whole.push_back(member);
  }
  if (static_cast<int>(whole.size()) != first.place.group_world_size) return {};
  std::sort(whole.begin(), whole.end(), [](const SimAgent* a, const SimAgent* b) {
    return a->place.group_rank < b->place.group_rank;
  });
  return whole;
}

void SimWorld::AdvanceRounds() {
  for (auto& [name, pod] : pods_) {
    SimAgent* agent = pod.agent.get();
    if (agent == nullptr) continue;
    if (agent->phase == SimAgent::Phase::kJoining) {
      const auto members = WholeRound(*agent, agent->phase);
      if (agent->leads() && !members.empty()) Join(members);
      if (members.empty() && now - agent->phase_since > absl::Seconds(1)) agent->Stall(now);
    } else if (agent->phase == SimAgent::Phase::kRunning) {
      const auto members = WholeRound(*agent, agent->phase);
      if (agent->leads() && !members.empty()) Step(members);
      // A collective with a dead peer ends soon; a short grace lets every member begin to run.
      if (members.empty() && now - agent->phase_since > kNotice) agent->Stall(now);
    }
  }
}

void SimWorld::Join(const std::vector<SimAgent*>& members) {
  const ResumePoint& resume = members.front()->go->resume();
  const std::vector<SimRank*> ranks = RanksOf(members);
  if (resume.source() == ResumePoint::CHECKPOINT &&
      ruined_.count(resume.checkpoint().directory()) > 0) {
    for (SimAgent* agent : members) {
      agent->phase = SimAgent::Phase::kWaiting;
      agent->joined = JoinedReport{agent->round, "checksum", resume.checkpoint().directory(), {}};
    }
    return;
  }
  for (int r = 0; r < static_cast<int>(ranks.size()); ++r) {
    RankPosition& position = ranks[r]->position;
    const bool receives = std::count(resume.receivers().begin(), resume.receivers().end(), r) > 0;
    if (resume.source() == ResumePoint::LIVE && !receives) {
      if (position.has_sealed() && Same(position.sealed(), resume.version())) Apply(position);
      if (!Same(position.applied(), resume.version())) Violate("a donor does not hold the state");
    }
    position.clear_sealed();
    *position.mutable_applied() = resume.version();
    position.set_history(resume.history());
    ranks[r]->joined_once = true;
  }
  // Every rank has now applied a relayed step.
  committed = resume.version().step();
  committed_version_ = {resume.version().attempt(), committed};
  std::erase_if(in_force, [this](const auto& tuning) { return tuning.step() > committed + 1; });
  for (SimAgent* agent : members) {
    agent->phase = SimAgent::Phase::kRunning;
    agent->phase_since = now;
    agent->joined = JoinedReport{agent->round, "", "", resume.version(), agent->trajectory};
  }
}

void SimWorld::Step(const std::vector<SimAgent*>& members) {
  const std::vector<SimRank*> ranks = RanksOf(members);
  const v1alpha1::Version base = ranks.front()->position.applied();
  for (SimRank* rank : ranks) {
    if (!Same(rank->position.applied(), base)) Violate("ranks of a round are out of step");
  }
  const int64_t attempt = members.front()->go->resume().next_attempt();
  const int64_t steps = TotalSteps(job.spec);
  if (base.step() < steps) {
    const v1alpha1::Version next = MakeVersion(base.step() + 1, attempt);
    for (SimRank* rank : ranks) *rank->position.mutable_sealed() = next;
    for (SimRank* rank : ranks) {
      See(rank->position, next);
      Apply(rank->position);
    }
    committed = next.step();
    committed_version_ = {attempt, next.step()};
    progress_.latest.emplace();
    *progress_.latest->mutable_version() = next;
    ++progress_.steps_seen;
    Tune(members, next.step());
    const double seconds = absl::ToDoubleSeconds(kTick);
    v1alpha1::PhaseTimes& times = progress_.times.phases;
    times.set_compute(times.compute() + 0.8 * seconds);
    times.set_communication(times.communication() + 0.2 * seconds);
  }
  const bool stop = std::any_of(members.begin(), members.end(),
                                [](const SimAgent* agent) { return agent->stop_wanted; });
  if (committed % 10 == 0 || stop || committed >= steps) {
    Save(ranks.front()->position.applied(), members.front()->go->resume().history());
  }
  if (!stop && committed < steps) return;
  const int64_t durable = checkpoints_.empty() ? -1 : checkpoints_.back().version().step();
  for (SimAgent* agent : members) agent->Finish(true, committed, durable);
}

// The vote of `step` puts the next tuning into force for the step after it, if all know of it.
// Then rank 0 reports what is in force for `step`.
void SimWorld::Tune(const std::vector<SimAgent*>& members, int64_t step) {
  const size_t place = in_force.size();
  if (std::all_of(members.begin(), members.end(), [&](const SimAgent* agent) {
        return agent->tunings.size() > place && agent->tunings[place].step() <= step + 1;
      })) {
    in_force.push_back(members.front()->tunings[place]);
    in_force.back().set_step(step + 1);
  }
  for (size_t i = 0; i < in_force.size() && in_force[i].step() <= step; ++i) {
    if (progress_.tunings.size() <= i) progress_.tunings.push_back(in_force[i]);
  }
}

void SimWorld::Save(const v1alpha1::Version& version, const std::string& history) {
  if (disk_full_) return;
  v1alpha1::CheckpointRef ref;
  ref.set_directory(absl::StrCat("step-", version.step(), ".", version.attempt()));
  *ref.mutable_version() = version;
  ref.set_history(history);
  if (!checkpoints_.empty() && checkpoints_.back().directory() == ref.directory()) return;
  checkpoints_.push_back(ref);
  written_.emplace();
  written_->set_phase(v1alpha1::CheckpointReport::WRITTEN);
  written_->set_directory(ref.directory());
  *written_->mutable_version() = version;
  written_->set_history(history);
}

void SimWorld::ShowCheckpoints(SimAgent& agent) {
  if (agent.phase != SimAgent::Phase::kPreparing || agent.ready) return;
  for (SimRank& rank : agent.ranks) {
    rank.position.clear_checkpoints();
    rank.position.set_listing_error(listing_error_);
    if (!listing_error_.empty()) continue;
    for (const auto& ref : checkpoints_) *rank.position.add_checkpoints() = ref;
  }
}

// Interrupts a step at a random place of its vote, before a rank dies.
void SimWorld::InterruptStep(const SimAgent& agent) {
  if (agent.phase != SimAgent::Phase::kRunning) return;
  const std::vector<SimAgent*> members = WholeRound(agent, agent.phase);
  if (members.empty() || committed >= TotalSteps(job.spec)) return;
  const std::vector<SimRank*> ranks = RanksOf(members);
  const v1alpha1::Version next = MakeVersion(ranks.front()->position.applied().step() + 1,
                                             members.front()->go->resume().next_attempt());
  const bool all_sealed = Pick(2);
  for (SimRank* rank : ranks) {
    if (all_sealed || Pick(2)) *rank->position.mutable_sealed() = next;
  }
  if (!all_sealed) return;
  for (SimRank* rank : ranks) {
    const int place = Number(0, 2);  // saw nothing, saw the vote, applied
    if (place > 0) See(rank->position, next);
    if (place > 1) Apply(rank->position);
  }
}

}  // namespace muster::control
