#ifndef MUSTER_TRAINER_ENGINE_TESTING_THREAD_ROUNDS_H_
#define MUSTER_TRAINER_ENGINE_TESTING_THREAD_ROUNDS_H_

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/ops/equal.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/files/storage_trouble.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/commit/tunings.h"
#include "trainer/engine/link/round_network.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/engine/store/checkpoints.h"
#include "trainer/engine/store/kept_replicas.h"
#include "trainer/engine/store/state_copies.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/trainer.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/process/spec_reader.h"

namespace muster::trainer {

// Connects rounds among threads. A round's communicators are made when its first rank arrives.
class ThreadNetwork final : public RoundNetwork {
 public:
  struct Rounds {
    Mutex mu;
    // By round and group.
    std::map<std::pair<int64_t, std::string>, std::vector<std::unique_ptr<Communicator>>>
        communicators MUSTER_GUARDED_BY(mu);
    absl::Duration deadline MUSTER_GUARDED_BY(mu);  // the newest that was set
  };
  explicit ThreadNetwork(Rounds& rounds) : rounds_(rounds) {}

  void SetDeadline(absl::Duration deadline) override {
    MutexLock lock(rounds_.mu);
    rounds_.deadline = deadline;
  }
  // Threads of one process need none.
  void SetSecret(std::string) override {}
  absl::StatusOr<std::string> Serve() override { return "thread:1"; }
  std::unique_ptr<RoundConnector> MakeConnector(const GroupPlace& place,
                                                const std::string& store) override {
    struct Connector final : RoundConnector {
      absl::StatusOr<std::unique_ptr<Communicator>> Connect() override {
        return std::move(communicator);
      }
      void Abort(std::string_view why) override { communicator->Abort(why); }
      std::unique_ptr<Communicator> communicator;
    };
    auto connector = std::make_unique<Connector>();
    MutexLock lock(rounds_.mu);
    auto& communicators = rounds_.communicators[{place.round.round(), place.group}];
    if (communicators.empty()) communicators = MakeLocalCommunicators({.size = place.size});
    connector->communicator = std::move(communicators[static_cast<size_t>(place.rank)]);
    return connector;
  }

 private:
  Rounds& rounds_;
};

// Keeps checkpoints in memory, seen by all ranks. Rank 0's copy is the checkpoint.
class MemoryCheckpoints final : public Checkpoints {
 public:
  struct Saved {
    v1alpha1::Version version;
    std::string history;
    RunCounts counts;
    std::vector<at::Tensor> tensors;
  };
  struct Disk {
    Mutex mu;
    std::map<std::string, Saved> saved MUSTER_GUARDED_BY(mu);
    std::map<std::string, Saved> set_aside MUSTER_GUARDED_BY(mu);
    // Claiming, listing, saving and loading return these errors while they are set.
    absl::Status claim_fault MUSTER_GUARDED_BY(mu);
    absl::Status write_fault MUSTER_GUARDED_BY(mu);  // returned by CheckWritable and Save
    int keep MUSTER_GUARDED_BY(mu) = 0;              // as set last
    absl::Status list_fault MUSTER_GUARDED_BY(mu);
    absl::Status save_fault MUSTER_GUARDED_BY(mu);
    absl::Status load_fault MUSTER_GUARDED_BY(mu);
    int64_t marked_round MUSTER_GUARDED_BY(mu) = 0;
    std::set<int> begun MUSTER_GUARDED_BY(mu);  // ranks that have begun to save
    // The steps that a rank saves for the others after their round.
    std::set<int64_t> taken MUSTER_GUARDED_BY(mu);
    // Shares of these ranks are not written until the rank is taken out.
    std::set<int> stuck MUSTER_GUARDED_BY(mu);
    std::optional<StorageTrouble> trouble MUSTER_GUARDED_BY(mu);  // of the stuck ranks
    CondVar changed;  // notify it after a change of stuck
  };
  explicit MemoryCheckpoints(Disk& disk) : disk_(disk) {}

  absl::Status Claim() override {
    MutexLock lock(disk_.mu);
    return disk_.claim_fault;
  }
  absl::Status CheckWritable() override {
    MutexLock lock(disk_.mu);
    return disk_.write_fault;
  }
  absl::Status WriteMark(const v1alpha1::RoundId& round) override {
    MutexLock lock(disk_.mu);
    MUSTER_RETURN_IF_ERROR(disk_.write_fault);
    disk_.marked_round = round.round();
    return absl::OkStatus();
  }
  absl::Status FindMark(const v1alpha1::RoundId& round) override {
    MutexLock lock(disk_.mu);
    if (disk_.marked_round == round.round()) return absl::OkStatus();
    return absl::NotFoundError("/ck/claim/round.json: is of another round");
  }
  void SetKeep(int keep) override {
    MutexLock lock(disk_.mu);
    disk_.keep = keep;
  }
  Listing List(const TrainingState&) override {
    MutexLock lock(disk_.mu);
    Listing out;
    out.error = std::string(disk_.list_fault.message());
    if (!out.error.empty()) return out;
    for (auto it = disk_.saved.rbegin(); it != disk_.saved.rend(); ++it) {
      out.complete.emplace_back().set_directory(it->first);
      *out.complete.back().mutable_version() = it->second.version;
      out.complete.back().set_history(it->second.history);
    }
    return out;
  }
  absl::Status SetAside(const TrainingState& state, const v1alpha1::RoundId&) override {
    MutexLock lock(disk_.mu);
    for (auto it = disk_.saved.begin(); it != disk_.saved.end();) {
      const bool ours = it->second.history == state.commit().history() &&
                        it->second.version.step() <= state.applied()->step();
      if (!ours) disk_.set_aside.insert(*it);
      it = ours ? std::next(it) : disk_.saved.erase(it);
    }
    return absl::OkStatus();
  }
  std::optional<v1alpha1::Version> Durable() override { return durable_; }
  void Expect(const TrainingState&, const CheckpointWriterId&) override {}
  absl::Status Save(const TrainingState& state, const CheckpointWriterId& writer) override {
    Saved saved{*state.applied(), state.commit().history(), state.counts(), {}};
    for (const NamedTensor& flat : state.FlatTensors())
      saved.tensors.push_back(flat.tensor.clone());
    MutexLock lock(disk_.mu);
    if (IsStuck()) return absl::UnavailableError("the previous one is still being written");
    rank_ = writer.rank;
    MUSTER_RETURN_IF_ERROR(disk_.save_fault);
    MUSTER_RETURN_IF_ERROR(disk_.write_fault);
    share_ = std::move(saved);
    disk_.begun.insert(rank_);
    disk_.changed.NotifyAll();
    IsStuck();
    return absl::OkStatus();
  }
  void FinishCopy() override {}
  std::optional<SaveUnderway> Underway() override {
    MutexLock lock(disk_.mu);
    if (!IsStuck()) return std::nullopt;
    return SaveUnderway{share_->version.step(), absl::ZeroDuration(), disk_.trouble};
  }
  bool WaitIdle(absl::Duration timeout) override {
    MutexLock lock(disk_.mu);
    while (IsStuck()) {
      if (timeout == absl::ZeroDuration() || !disk_.changed.WaitFor(disk_.mu, timeout)) {
        return !IsStuck();
      }
    }
    return true;
  }
  void Abandon() override {
    MutexLock lock(disk_.mu);
    share_.reset();
  }
  absl::StatusOr<bool> TakeShard(const TrainingState& state, const v1alpha1::RoundId&) override {
    MutexLock lock(disk_.mu);
    return disk_.taken.insert(state.applied()->step()).second;
  }
  bool IsComplete(const TrainingState& state, const v1alpha1::RoundId&) override {
    MutexLock lock(disk_.mu);
    const auto found = disk_.saved.find(NameOf(state.applied()->step()));
    if (found == disk_.saved.end() || found->second.history != state.commit().history()) {
      return false;
    }
    durable_ = found->second.version;
    return true;
  }
  absl::StatusOr<bool> Holds(const v1alpha1::CheckpointRef& checkpoint,
                             const TrainingState& state) override {
    MutexLock lock(disk_.mu);
    MUSTER_RETURN_IF_ERROR(disk_.load_fault);
    const auto it = disk_.saved.find(checkpoint.directory());
    if (it == disk_.saved.end()) return absl::DataLossError("no such checkpoint");
    const auto flat = state.FlatTensors();
    bool equal = state.counts() == it->second.counts;
    for (size_t i = 0; i < flat.size(); ++i) {
      equal = equal && at::equal(flat[i].tensor, it->second.tensors[i]);
    }
    return equal;
  }
  absl::StatusOr<v1alpha1::Version> Load(const v1alpha1::CheckpointRef& checkpoint,
                                         TrainingState& state) override {
    MutexLock lock(disk_.mu);
    MUSTER_RETURN_IF_ERROR(disk_.load_fault);
    const auto it = disk_.saved.find(checkpoint.directory());
    if (it == disk_.saved.end()) return absl::DataLossError("no such checkpoint");
    const auto flat = state.FlatTensors();
    for (size_t i = 0; i < flat.size(); ++i) flat[i].tensor.copy_(it->second.tensors[i]);
    state.set_counts(it->second.counts);
    durable_ = it->second.version;
    return it->second.version;
  }

 private:
  static std::string NameOf(int64_t step) { return "step-" + std::to_string(1000000 + step); }
  // Returns true if this rank's share is still being written; else publishes it, if there is one.
  bool IsStuck() MUSTER_REQUIRES(disk_.mu) {
    if (!share_) return false;
    if (disk_.stuck.count(rank_) > 0) return true;
    if (rank_ == 0) {
      durable_ = share_->version;
      const std::string name = NameOf(share_->version.step());
      disk_.saved[name] = *std::move(share_);
    }
    share_.reset();
    return false;
  }

  Disk& disk_;
  int rank_ = 0;
  std::optional<Saved> share_;  // being written
  std::optional<v1alpha1::Version> durable_;
};

// Records the messages of a trainer; a test can wait for one.
class RecordingOutbox final : public Outbox {
 public:
  void Send(const v1alpha1::FromTrainer& message) override {
    MutexLock lock(mu_);
    messages_.push_back(message);
    changed_.NotifyAll();
  }
  // Waits for the next message of this kind and returns it. Messages before it are skipped;
  // Reports() still finds their step reports.
  v1alpha1::FromTrainer Await(v1alpha1::FromTrainer::KindCase kind) {
    MutexLock lock(mu_);
    while (true) {
      while (next_ < messages_.size()) {
        const v1alpha1::FromTrainer& message = messages_[next_++];
        if (message.kind_case() == kind) return message;
      }
      changed_.Wait(mu_);
    }
  }
  std::vector<v1alpha1::StepReport> Reports() {
    MutexLock lock(mu_);
    std::vector<v1alpha1::StepReport> out;
    for (const auto& message : messages_) {
      out.insert(out.end(), message.steps().steps().begin(), message.steps().steps().end());
    }
    return out;
  }
  std::vector<v1alpha1::CheckpointReport> CheckpointReports() {
    MutexLock lock(mu_);
    std::vector<v1alpha1::CheckpointReport> out;
    for (const auto& message : messages_) {
      if (message.has_checkpoint()) out.push_back(message.checkpoint());
    }
    return out;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<v1alpha1::FromTrainer> messages_ MUSTER_GUARDED_BY(mu_);
  size_t next_ MUSTER_GUARDED_BY(mu_) = 0;
};

// Runs one trainer on a thread of its own. Kill() ends it as the loss of its process would.
class ThreadTrainer {
 public:
  ThreadTrainer(const TrainingOptions& options, TrainerSettings settings,
                ThreadNetwork::Rounds& rounds, MemoryCheckpoints::Disk& disk,
                InitialWeights* initial = nullptr, StateCopies* copies = nullptr,
                KeptReplicas* replicas = nullptr)
      : state_(*TrainingState::Create(*MakeModel(TinyModel(0.1)), options, {}, &scratch_,
                                      settings.local_rank % options.parts)),
        feed_(options, TinyModel(0.1).vocabulary),
        network_(rounds),
        checkpoints_(disk),
        trainer_(std::make_unique<Trainer>(
            settings, Trainer::Parts{.state = *state_,
                                     .feed = feed_,
                                     .network = network_,
                                     .checkpoints = &checkpoints_,
                                     .inbox = inbox_,
                                     .outbox = outbox_,
                                     .progress = progress_,
                                     .timer = timer_,
                                     .clock = Clock::Real(),
                                     .copies = copies,
                                     .replicas = replicas,
                                     .initial = initial,
                                     .read_spec =
                                         [rank = settings.local_rank](
                                             const v1alpha1::TrainingJobSpec& wanted) {
                                           return ReadRunConfig(wanted, rank);
                                         }})),
        thread_([this] {
          while (trainer_->RunOnce()) {
          }
          exit_code_ = trainer_->exit_code();
          trainer_.reset();
        }) {}
  ~ThreadTrainer() { Kill(); }

  void Kill() {
    inbox_.Close();
    feed_.Release();
    if (thread_.joinable()) thread_.join();
  }
  // Returns when the trainer has ended by itself.
  void AwaitEnd() { thread_.join(); }
  void Prepare(int64_t round, int rank, int world_size,
               const v1alpha1::TrainingJobSpec* spec = nullptr, const std::string& trajectory = "",
               const std::vector<std::string>& replica_folders = {}) {
    v1alpha1::ToTrainer message;
    for (const std::string& folder : replica_folders) {
      message.mutable_prepare()->add_replica_directories(folder);
    }
    if (spec != nullptr) *message.mutable_prepare()->mutable_spec() = *spec;
    message.mutable_prepare()->set_trajectory(trajectory);
    message.mutable_prepare()->mutable_round()->set_round(round);
    message.mutable_prepare()->set_rank(rank);
    message.mutable_prepare()->set_world_size(world_size);
    inbox_.Push(message);
  }
  void Go(int64_t round, const v1alpha1::ResumePoint& resume, const v1alpha1::Mesh& mesh = {}) {
    v1alpha1::ToTrainer message;
    if (mesh.shard() > 1 || mesh.tensor() > 1 || mesh.context() > 1)
      *message.mutable_go()->mutable_mesh() = mesh;
    message.mutable_go()->mutable_round()->set_round(round);
    message.mutable_go()->set_endpoint("thread:1");
    *message.mutable_go()->mutable_resume() = resume;
    inbox_.Push(message);
  }
  void Send(const v1alpha1::ToTrainer& message) { inbox_.Push(message); }
  void Stop(bool save) {
    v1alpha1::ToTrainer message;
    message.mutable_stop()->set_save(save);
    inbox_.Push(message);
  }
  void Tune(const Tuning& tuning) {
    v1alpha1::ToTrainer message;
    *message.mutable_tune()->add_tunings() = ToProto(tuning);
    inbox_.Push(message);
  }
  v1alpha1::RankPosition AwaitReady() {
    return outbox_.Await(v1alpha1::FromTrainer::kReady).ready().ready().position();
  }
  v1alpha1::WorkerJoined AwaitJoined() {
    return outbox_.Await(v1alpha1::FromTrainer::kJoined).joined();
  }
  v1alpha1::TrainerFinished AwaitFinished() {
    return outbox_.Await(v1alpha1::FromTrainer::kFinished).finished();
  }
  // Valid once Kill() or AwaitEnd() has returned.
  int exit_code() const { return exit_code_; }
  SyntheticFeed& feed() { return feed_; }
  RecordingOutbox& outbox() { return outbox_; }
  // Call only while the trainer waits for an order.
  TrainingState& state() { return *state_; }
  // The disk on which state rests, if the options say so.
  MemoryStateFiles& scratch() { return scratch_; }

 private:
  MemoryStateFiles scratch_;
  std::unique_ptr<TrainingState> state_;
  SyntheticFeed feed_;
  ThreadNetwork network_;
  MemoryCheckpoints checkpoints_;
  Inbox inbox_;
  RecordingOutbox outbox_;
  EngineProgress progress_{Clock::Real()};
  PhaseTimer timer_{Clock::Real(), Phase::kInit};
  std::unique_ptr<Trainer> trainer_;
  int exit_code_ = 0;
  std::thread thread_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_THREAD_ROUNDS_H_
