// The part of Fleet in which ranks join, step and save.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/fleet.h"

namespace muster::control {
namespace {

using v1alpha1::ResumePoint;

constexpr absl::Duration kNotice = absl::Milliseconds(300);
constexpr absl::Duration kJoinPatience = absl::Seconds(1);
constexpr int64_t kCommandSteps = 600;

}  // namespace

void Fleet::RunTraining() {
  EndSaves();
  std::map<std::pair<std::string, int64_t>, Round> rounds;
  for (auto& [uid, worker] : workers_) {
    const SimAgent* agent = worker.agent.get();
    if (agent == nullptr || agent->place.group_world_size == 0) continue;
    rounds[{worker.job_uid, agent->round.round}].push_back(&worker);
  }
  for (auto& [key, round] : rounds) {
    std::sort(round.begin(), round.end(), [](const SimWorker* a, const SimWorker* b) {
      return a->agent->place.group_rank < b->agent->place.group_rank;
    });
    RunRound(round);
  }
}

// Returns true if the job went on without this round while all of it was out of reach. It goes on
// until it learns of that, and its checkpoints land nowhere.
bool Fleet::IsLeftBehind(const Round& round) const {
  const auto newest = prepared_.find(round.front()->job_uid);
  return newest != prepared_.end() && round.front()->agent->round.round < newest->second &&
         std::all_of(
             round.begin(), round.end(),
             [this](const SimWorker* worker) {
               return worker->host < 0 || now() < worker->cut_until;
             });
}

bool Fleet::IsWhole(const Round& round, SimAgent::Phase phase) const {
  if (static_cast<int>(round.size()) != round.front()->agent->place.group_world_size) return false;
  return std::all_of(round.begin(), round.end(), [&](const SimWorker* worker) {
    const SimAgent& agent = *worker->agent;
    return agent.phase == phase && agent.round == round.front()->agent->round &&
           std::all_of(agent.ranks.begin(), agent.ranks.end(),
                       [](const SimRank& rank) { return rank.alive; });
  });
}

void Fleet::RunRound(const Round& round) {
  const bool joining = IsWhole(round, SimAgent::Phase::kJoining);
  const bool running = IsWhole(round, SimAgent::Phase::kRunning);
  const bool stopped = std::any_of(round.begin(), round.end(), [this](const SimWorker* worker) {
    return now() < worker->stopped_until;
  });
  if (!stopped && joining && HasComeTogether(round)) return Join(round);
  if (running && IsLeftBehind(round)) return;
  for (SimWorker* worker : round) {
    if (running) worker->whole_until = now();
  }
  if (!stopped && running) return Step(round);
  if (joining || running) return;
  for (SimWorker* worker : round) {
    SimAgent& agent = *worker->agent;
    const absl::Duration waited = now() - agent.phase_since;
    if (agent.phase == SimAgent::Phase::kJoining && waited > kJoinPatience) agent.Stall(now());
    const bool noticed = now() - worker->whole_until >= notice_of_loss_;
    if (agent.phase == SimAgent::Phase::kRunning && waited > kNotice && noticed) agent.Stall(now());
  }
}

// True if a member has the step, in its ranks or as a copy.
bool Fleet::HolderLives(const Round& members, int64_t step) const {
  return std::any_of(members.begin(), members.end(), [&](const SimWorker* worker) {
    return worker->agent->ranks.front().position.applied().step() >= step ||
           (worker->copy && worker->copy->version().step() >= step);
  });
}

// Returns true once all members have had the time to join.
bool Fleet::HasComeTogether(const Round& members) const {
  const bool loads = members.front()->agent->go->resume().source() == ResumePoint::CHECKPOINT;
  const absl::Duration takes = loads ? load_time_ : join_time_;
  return std::all_of(members.begin(), members.end(), [&](const SimWorker* worker) {
    return now() - worker->agent->phase_since >= takes;
  });
}

// Returns true if the round's state is a checkpoint that cannot be read.
bool Fleet::RefuseRuined(const Round& members) {
  const ResumePoint& resume = members.front()->agent->go->resume();
  const std::string& directory = resume.checkpoint().directory();
  if (resume.source() != ResumePoint::CHECKPOINT) return false;
  if (ruined_[members.front()->job_uid].count(directory) == 0) return false;
  for (SimWorker* worker : members) {
    SimAgent& agent = *worker->agent;
    agent.phase = SimAgent::Phase::kWaiting;
    agent.joined = JoinedReport{agent.round, "checksum", directory, {}};
  }
  return true;
}

void Fleet::Join(const Round& members) {
  if (RefuseRuined(members)) return;
  const SimWorker& first = *members.front();
  const ResumePoint& resume = first.agent->go->resume();
  const std::string& job = first.job_uid;
  if (first.steps > 0) {
    const auto ruined = [&](const v1alpha1::CheckpointRef& ref) {
      return ruined_[job].count(ref.directory()) > 0;
    };
    // Checkpoints beyond the point are given up.
    auto& saved = checkpoints_[job];
    for (const v1alpha1::CheckpointRef& ref : saved) {
      if (ref.version().step() <= resume.version().step() || ruined(ref)) continue;
      promises_.Break(absl::StrCat(first.job, " goes on from step ", resume.version().step(),
                                   " before its checkpoint ", ref.directory()));
    }
    std::erase_if(saved, [&](const v1alpha1::CheckpointRef& ref) {
      return ref.version().step() > resume.version().step();
    });
    promises_.Resumed(job, first.agent->round.round, resume.version().step(),
                      HolderLives(members, promises_.committed(job)));
  }
  if (first.steps == 0 && reported_command_steps_) commands_[job].done = commands_[job].saved;
  for (SimWorker* worker : members) {
    SimAgent& agent = *worker->agent;
    for (SimRank& rank : agent.ranks) {
      rank.joined_once = true;
      if (first.steps == 0) continue;
      rank.position.clear_sealed();
      *rank.position.mutable_applied() = resume.version();
      rank.position.set_history(resume.history());
    }
    agent.phase = SimAgent::Phase::kRunning;
    agent.phase_since = now();
    agent.joined = JoinedReport{agent.round, "", "", resume.version(), agent.trajectory};
  }
}

// Returns true if the version is on disk.
bool Fleet::IsSaved(const std::string& job, const v1alpha1::Version& version) const {
  const auto saved = checkpoints_.find(job);
  if (saved == checkpoints_.end() || saved->second.empty()) return false;
  const v1alpha1::Version& newest = saved->second.back().version();
  return newest.step() == version.step() && newest.attempt() == version.attempt();
}

// Begins a save, unless one is under way or storage takes none.
void Fleet::Save(const Round& members, const v1alpha1::Version& version) {
  if (now() < storage_away_until_) return;
  const SimWorker& first = *members.front();
  const std::string& pod = first.agent->pod_uid;
  for (SimWorker* worker : members) worker->save_wanted = false;
  if (saving_.count(pod) > 0 || IsSaved(first.job_uid, version)) return;
  SimSave& save = saving_[pod];
  save.job_uid = first.job_uid;
  save.ready_at = now() + save_time_;
  save.report.set_phase(v1alpha1::CheckpointReport::STARTED);
  *save.report.mutable_version() = version;
  save.report.set_directory(absl::StrCat("step-", version.step(), ".", version.attempt()));
  save.report.set_history(first.agent->go->resume().history());
  save.report.set_seconds(absl::ToDoubleSeconds(save_time_));
  save.report.set_bytes(1 << 20);
  members.front()->saved.push_back(save.report);
  save.report.set_phase(v1alpha1::CheckpointReport::WRITTEN);
  EndSaves();
}

// A save that rank 0 does not live to complete is lost.
void Fleet::EndSaves() {
  std::erase_if(saving_, [this](const auto& entry) {
    const auto& [pod, save] = entry;
    const auto worker = workers_.find(pod);
    if (worker == workers_.end() || worker->second.agent == nullptr) return true;
    const SimAgent& agent = *worker->second.agent;
    if (!agent.ranks.front().alive || agent.phase != SimAgent::Phase::kRunning) return true;
    if (now() < storage_away_until_) {
      v1alpha1::CheckpointReport& report = worker->second.saved.emplace_back(save.report);
      report.set_phase(v1alpha1::CheckpointReport::FAILED);
      report.set_error("no space left on device");
      return true;
    }
    if (now() < save.ready_at) return false;
    // Ranks of a newer round may have looked for checkpoints already: this one is of a history that
    // was left.
    if (prepared_[save.job_uid] > agent.round.round) return true;
    v1alpha1::CheckpointRef ref;
    ref.set_directory(save.report.directory());
    *ref.mutable_version() = save.report.version();
    ref.set_history(save.report.history());
    checkpoints_[save.job_uid].push_back(ref);
    worker->second.saved.push_back(save.report);
    ++saves_done_;
    return true;
  });
}

void Fleet::SaveCommand(const Round& members, SimCommand& command) {
  command.saved = command.done;
  v1alpha1::CheckpointReport report;
  report.set_phase(v1alpha1::CheckpointReport::WRITTEN);
  report.mutable_version()->set_step(command.saved);
  report.set_directory(absl::StrCat("step-", command.saved));
  members.front()->saved.push_back(report);
  for (SimWorker* worker : members) worker->save_wanted = false;
  ++saves_done_;
}

// A command counts its own steps, and saves them by itself.
void Fleet::RunCommand(const Round& members, bool stop) {
  SimCommand& command = commands_[members.front()->job_uid];
  ++command.done;
  if (reported_command_steps_) {
    ++steps_done_;
    const bool wanted = std::any_of(members.begin(), members.end(),
                                    [](const SimWorker* worker) { return worker->save_wanted; });
    if (wanted || command.done % save_every_ == 0) SaveCommand(members, command);
  }
  const bool end = command.done >= reported_command_steps_.value_or(kCommandSteps);
  if (!stop && !end) return;
  for (SimWorker* worker : members) worker->agent->Finish(true, 0, -1);
}

void Fleet::KeepCopies(const Round& members, const v1alpha1::Version& version) {
  for (SimWorker* worker : members) {
    if (worker->copy_every == 0 || version.step() % worker->copy_every != 0) continue;
    worker->copy.emplace();
    *worker->copy->mutable_version() = version;
    worker->copy->set_history(members.front()->agent->go->resume().history());
    worker->copy->set_bytes(1 << 20);
  }
}

// Adds the time since the last step to what rank 0 reports.
void Fleet::CountTime(SimWorker& first) {
  const int ticks = pace_.count(first.job_uid) > 0 ? pace_.at(first.job_uid) : 1;
  const double seconds = ticks * absl::ToDoubleSeconds(tick_);
  first.times.set_compute(first.times.compute() + 0.8 * seconds);
  first.times.set_communication(first.times.communication() + 0.2 * seconds);
}

// A round that no operator can reach goes on beside the one that takes its place, until its pods
// end. What it saves is told apart by the attempt.
bool Fleet::IsGivenUp(const Round& members) const {
  return std::none_of(members.begin(), members.end(), [this](const SimWorker* worker) {
    const auto pod = pods_.find({"default", worker->pod});
    const bool stays = pod != pods_.end() && !pod->second.terminating;
    return stays && worker->cut_until <= now();
  });
}

void Fleet::Step(const Round& members) {
  SimWorker& first = *members.front();
  const std::string& job = first.job_uid;
  const bool stop = std::any_of(members.begin(), members.end(),
                                [](const SimWorker* worker) { return worker->agent->stop_wanted; });
  if (first.steps == 0) return RunCommand(members, stop);
  const auto pace = pace_.find(job);
  if (pace != pace_.end() && ticks_ % pace->second != 0) return;
  if (work_per_step_ > absl::ZeroDuration() && !stop) {
    first.work += tick_ * static_cast<int>(members.size());
    if (first.work < work_per_step_) return;
    first.work -= work_per_step_;
  }
  v1alpha1::Version at = first.agent->ranks.front().position.applied();
  if (!stop && at.step() < first.steps) {
    at.set_step(at.step() + 1);
    at.set_attempt(first.agent->go->resume().next_attempt());
    for (SimWorker* worker : members) {
      for (SimRank& rank : worker->agent->ranks) *rank.position.mutable_applied() = at;
    }
    ++steps_done_;
    if (!IsGivenUp(members)) promises_.Stepped(job, first.agent->round.round, at.step());
    KeepCopies(members, at);
    CountTime(first);
  }
  const bool save = std::any_of(members.begin(), members.end(),
                                [](const SimWorker* worker) { return worker->save_wanted; });
  const bool over = stop || at.step() >= first.steps;
  if (over || save || at.step() % save_every_ == 0) Save(members, at);
  if (!over || !IsSaved(job, at)) return;
  for (SimWorker* worker : members) worker->agent->Finish(true, at.step(), at.step());
}

}  // namespace muster::control
