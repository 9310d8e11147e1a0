#ifndef MUSTER_AGENT_CORE_WORKER_MACHINE_TEST_UTIL_H_
#define MUSTER_AGENT_CORE_WORKER_MACHINE_TEST_UTIL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/core/worker_event.h"
#include "agent/core/worker_machine.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {

inline v1alpha1::RoundId Round(int64_t term, int64_t round) {
  return v1alpha1::MakeRoundId(term, round);
}

inline WorkerConfig TwoRanks() {
  WorkerConfig config;
  config.worker.set_namespace_("default");
  config.worker.set_job("gpt");
  config.worker.set_index(1);
  config.worker.set_incarnation(2);
  config.ranks = 2;
  config.host = "node-b";
  return config;
}

// A simulated environment of one machine: it keeps the table of processes, checks the invariants of
// every action, and collects the messages that the machine sends.
class World {
 public:
  explicit World(WorkerConfig config = TwoRanks())
      : worker_(config.worker), machine_(std::move(config), now_) {}

  void Do(const Event& event) {
    for (Action& action : machine_.Handle(event, now_)) {
      ASSERT_FALSE(exited()) << "an action after ExitAgent";
      std::visit([this](auto& a) { Apply(a); }, action);
    }
  }

  void Say(v1alpha1::OperatorMessage message) { Do(OperatorMessageReceived{std::move(message)}); }
  void Welcome(int64_t term, const std::string& policy = "RestartRank", bool trainer = true) {
    Do(StreamOpened{});
    v1alpha1::OperatorMessage message;
    message.mutable_welcome()->set_term(term);
    auto* spec = message.mutable_welcome()->mutable_spec();
    if (trainer) spec->mutable_trainer();
    if (welcome_spec.has_value()) *spec = *welcome_spec;
    spec->mutable_failure_policy()->set_on_rank_failure(policy);
    spec->mutable_elastic()->set_rank_deadline("2s");
    spec->mutable_elastic()->set_orphan_deadline("60s");
    spec_ = *spec;
    if (prepare_deadline.has_value()) {
      message.mutable_welcome()->set_prepare_deadline_seconds(
          absl::ToDoubleSeconds(*prepare_deadline));
    }
    Say(message);
  }
  void Prepare(int64_t term, int64_t round, bool fresh = false) {
    v1alpha1::OperatorMessage message;
    auto* prepare = message.mutable_prepare();
    for (const v1alpha1::ReplicaPeer& peer : replicas_at) *prepare->add_replicas_at() = peer;
    if (copies_of.has_value()) prepare->set_copies_of(*copies_of);
    prepare->set_fresh(fresh);
    *prepare->mutable_spec() = spec_;
    prepare->set_trajectory(trajectory_);
    prepare->set_secret(absl::StrCat("secret of ", round));
    *prepare->mutable_round() = Round(term, round);
    auto* member = prepare->mutable_member();
    *member->mutable_worker() = worker_;
    member->set_first_rank(2 * worker_.index());
    member->set_ranks(2);
    prepare->set_world_size(4);
    prepare->set_group_rank(worker_.index());
    prepare->set_group_world_size(2);
    Say(message);
  }
  void Go(int64_t term, int64_t round, bool tests_links = false) {
    v1alpha1::OperatorMessage message;
    if (tests_links) message.mutable_go()->mutable_link_test()->add_ranks(0);
    *message.mutable_go()->mutable_round() = Round(term, round);
    message.mutable_go()->set_endpoint("node-a:4000");
    Say(message);
  }
  void Stop(int64_t term, int64_t round, bool save) {
    v1alpha1::OperatorMessage message;
    *message.mutable_stop()->mutable_round() = Round(term, round);
    message.mutable_stop()->set_save(save);
    Say(message);
  }

  void FromRank(int rank, v1alpha1::FromTrainer message) {
    Do(RankMessageReceived{rank, processes_[rank].generation, std::move(message)});
  }
  void Hello(int rank) {
    v1alpha1::FromTrainer message;
    message.mutable_hello();
    FromRank(rank, message);
  }
  void Heartbeat(int rank) {
    v1alpha1::FromTrainer message;
    message.mutable_heartbeat();
    FromRank(rank, message);
  }
  void Ready(int rank, v1alpha1::RoundId round) {
    v1alpha1::FromTrainer message;
    *message.mutable_ready()->mutable_round() = round;
    message.mutable_ready()->mutable_ready()->set_endpoint("node-b:1");
    FromRank(rank, message);
  }
  void Joined(int rank, v1alpha1::RoundId round, const std::string& error = "",
              const std::string& trajectory = "") {
    v1alpha1::FromTrainer message;
    *message.mutable_joined()->mutable_round() = round;
    message.mutable_joined()->set_trajectory(trajectory.empty() ? trajectory_ : trajectory);
    message.mutable_joined()->set_error(error);
    FromRank(rank, message);
  }
  void Finished(int rank, bool succeeded = true, int64_t step = 10) {
    v1alpha1::FromTrainer message;
    message.mutable_finished()->set_succeeded(succeeded);
    if (!succeeded) message.mutable_finished()->set_message("the data are no text");
    message.mutable_finished()->mutable_version()->set_step(step);
    FromRank(rank, message);
  }
  // Ends a process, by itself or by a signal.
  void End(int rank, int code, int signal = 0, bool out_of_memory = false) {
    Process& process = processes_[rank];
    ASSERT_TRUE(process.alive);
    process.alive = false;
    Do(RankEnded{rank, process.generation, code, signal, "the last words", out_of_memory});
  }
  // Ends the processes that were signalled; `ignore_term` spares those that got only SIGTERM.
  void EndKilled(bool ignore_term = false) {
    for (auto& [rank, process] : processes_) {
      if (!process.alive || process.signals.empty()) continue;
      const int signal = process.signals.back();
      if (signal == 9 || !ignore_term) End(rank, 128 + signal, signal);
    }
  }
  // Advances time in ticks of 100 ms, while the ranks in `beats` send heartbeats.
  void Pass(absl::Duration duration, const std::vector<int>& beats = {}) {
    for (absl::Duration d; d < duration && !exited(); d += absl::Milliseconds(100)) {
      now_ += absl::Milliseconds(100);
      for (int rank : beats) {
        if (processes_[rank].alive) Heartbeat(rank);
      }
      Do(Tick{});
    }
  }
  void Run(int64_t term, int64_t round) {
    Prepare(term, round);
    for (int rank : {0, 1}) Hello(rank);
    for (int rank : {0, 1}) Ready(rank, Round(term, round));
    Go(term, round);
    for (int rank : {0, 1}) Joined(rank, Round(term, round));
  }

  // Returns the messages to the operator since the last call, without heartbeats.
  std::vector<v1alpha1::AgentMessage> TakeSaid() { return std::exchange(said_, {}); }
  std::vector<v1alpha1::ToTrainer> TakeTold(int rank) { return std::exchange(told_[rank], {}); }
  bool alive(int rank) { return processes_[rank].alive; }
  int generation(int rank) { return processes_[rank].generation; }
  std::vector<int> TakeSignals(int rank) { return std::exchange(processes_[rank].signals, {}); }
  const RankPlacement& placement(int rank) { return processes_[rank].placement; }
  bool exited() const { return exit_code_ >= 0; }
  int exit_code() const { return exit_code_; }
  int port_requests() const { return port_requests_; }
  // As the newest hello or heartbeat said.
  bool said_loading() const { return said_loading_; }
  const std::vector<std::string>& redials() const { return redials_; }
  const std::vector<int64_t>& replica_rooms() const { return replica_rooms_; }
  const std::vector<std::string>& disks() const { return disks_; }
  const std::vector<int64_t>& kept_on_disk() const { return kept_on_disk_; }
  bool removed_from_disk() const { return removed_from_disk_; }
  const std::vector<std::optional<v1alpha1::ReplicaPeer>>& replicated_to() const {
    return replicated_to_;
  }
  const std::vector<FetchReplicas>& fetches() const { return fetches_; }
  WorkerMachine& machine() { return machine_; }
  // Sets the spec of the next rounds.
  void Edit(const v1alpha1::TrainingJobSpec& spec, const std::string& trajectory) {
    spec_ = spec;
    trajectory_ = trajectory;
  }
  // The spec of the last Welcome, or of the rounds after an edit.
  const v1alpha1::TrainingJobSpec& spec() const { return spec_; }
  absl::Time& now() { return now_; }
  // The spec in Welcome, before policies and deadlines are added; absent: a trainer, if any.
  std::optional<v1alpha1::TrainingJobSpec> welcome_spec;
  // The deadline in Welcome; absent if Welcome has none.
  std::optional<absl::Duration> prepare_deadline;
  // The keepers of the replicas that Prepare names, and the worker whose they are, if it is
  // another.
  std::vector<v1alpha1::ReplicaPeer> replicas_at;
  std::optional<int> copies_of;

 private:
  struct Process {
    bool alive = false;
    int generation = 0;
    RankPlacement placement;
    std::vector<int> signals;
  };

  void Apply(LaunchRank& a) {
    Process& process = processes_[a.placement.local_rank];
    ASSERT_FALSE(process.alive) << "two processes for one rank";
    ASSERT_EQ(a.generation, process.generation + 1);
    process = {true, a.generation, a.placement, {}};
  }
  void Apply(KillRank& a) {
    Process& process = processes_[a.local_rank];
    ASSERT_TRUE(process.alive) << "a signal to nobody";
    ASSERT_EQ(a.generation, process.generation);
    process.signals.push_back(a.signal);
  }
  void Apply(SendToRank& a) {
    ASSERT_TRUE(processes_[a.local_rank].alive);
    if (a.message.has_prepare()) NotOld(a.message.prepare().round());
    if (a.message.has_go()) NotOld(a.message.go().round());
    told_[a.local_rank].push_back(a.message);
  }
  void Apply(SendToOperator& a) {
    if (a.message.has_ready()) NotOld(a.message.ready().round());
    if (a.message.has_joined()) NotOld(a.message.joined().round());
    if (a.message.has_hello()) said_loading_ = a.message.hello().loading();
    if (a.message.has_heartbeat()) said_loading_ = a.message.heartbeat().loading();
    if (!a.message.has_heartbeat()) said_.push_back(a.message);
  }
  void Apply(ReservePort&) { ++port_requests_; }
  void Apply(ServeReplicas& a) {
    replica_rooms_.push_back(a.room);
    disks_.push_back(a.disk);
  }
  void Apply(ReplicateTo& a) { replicated_to_.push_back(a.peer); }
  void Apply(KeepOnDisk& a) { kept_on_disk_.push_back(a.from_step); }
  void Apply(RemoveFromDisk&) { removed_from_disk_ = true; }
  void Apply(FetchReplicas& a) { fetches_.push_back(a); }
  void Apply(Redial& a) { redials_.push_back(a.address); }
  void Apply(ExitAgent& a) {
    for (auto& [rank, process] : processes_) ASSERT_FALSE(process.alive) << "left behind: " << rank;
    exit_code_ = a.code;
  }
  void NotOld(const v1alpha1::RoundId& round) {
    ASSERT_FALSE(Less(round, newest_)) << "spoke of an old round";
    newest_ = round;
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  const v1alpha1::WorkerId worker_;
  WorkerMachine machine_;
  std::map<int, Process> processes_;
  std::map<int, std::vector<v1alpha1::ToTrainer>> told_;
  std::vector<v1alpha1::AgentMessage> said_;
  std::vector<std::string> redials_;
  v1alpha1::TrainingJobSpec spec_;
  std::string trajectory_ = "first";
  v1alpha1::RoundId newest_;
  bool said_loading_ = false;
  int port_requests_ = 0;
  std::vector<int64_t> replica_rooms_;
  std::vector<std::string> disks_;
  std::vector<int64_t> kept_on_disk_;
  bool removed_from_disk_ = false;
  std::vector<std::optional<v1alpha1::ReplicaPeer>> replicated_to_;
  std::vector<FetchReplicas> fetches_;
  int exit_code_ = -1;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_WORKER_MACHINE_TEST_UTIL_H_
