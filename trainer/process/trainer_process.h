#ifndef MUSTER_TRAINER_PROCESS_TRAINER_PROCESS_H_
#define MUSTER_TRAINER_PROCESS_TRAINER_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "planner/memory.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "trainer/data/batch_feed.h"
#include "trainer/data/batch_source.h"
#include "trainer/data/data_digest.h"
#include "trainer/data/dataset.h"
#include "trainer/engine/link/heartbeat.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_network.h"
#include "trainer/engine/run_config.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/checkpoints.h"
#include "trainer/engine/store/kept_replicas.h"
#include "trainer/engine/store/state_copies.h"
#include "trainer/engine/trainer.h"
#include "trainer/logs/event_log.h"
#include "trainer/offload/directory_state_files.h"
#include "trainer/process/memory_check.h"
#include "trainer/process/process_device.h"

namespace muster::trainer {

// The environment of a trainer process.
struct ProcessOptions {
  // This process's address, as the other ranks reach it.
  std::string host = "127.0.0.1";
  // Directory that keeps tokenised data between starts; empty: it is not kept.
  std::string cache_directory;
  // Number of ranks, this one included, that start now and need as much memory each.
  int ranks_starting = 1;
  // Loads what computing on GPUs needs; null: this process computes on CPUs alone.
  LoadDevices load_devices = nullptr;
};

// Owns all parts of one rank, built from its agent's Configure: data, model, state, network,
// checkpoints. The model's memory is checked before any of it is allocated. Not thread-safe.
class TrainerProcess {
 public:
  // The arguments from `files` on must outlive this.
  static absl::StatusOr<std::unique_ptr<TrainerProcess>> Create(
      const v1alpha1::TrainerConfigure& configure, const ProcessOptions& options, Files& files,
      const Clock& clock, Inbox& inbox, Outbox& outbox, EngineProgress& progress);

  Trainer& trainer() { return *trainer_; }

 private:
  TrainerProcess(Files& files, const Clock& clock)
      : timer_(clock, Phase::kInit), state_files_(files) {}
  absl::Status OpenData(const v1alpha1::TrainerSpec& spec, const ProcessOptions& options,
                        Files& files);
  absl::StatusOr<Model> BuildModel(const v1alpha1::TrainingJobSpec& spec, Files& files);
  absl::StatusOr<Model> BuildScriptModel(const v1alpha1::TrainingJobSpec& spec, Files& files);
  // Returns ResourceExhausted if a rank has no room while so many divide a copy of the state.
  absl::Status CheckFits(int shards) const;
  RoundFitCheck MakeFitCheck() const;
  std::unique_ptr<InitialWeights> MakeInitialWeights(Files& files, const Model& model) const;
  absl::StatusOr<RunConfig> ReadConfig(const v1alpha1::TrainingJobSpec& spec, int local_rank) const;
  SpecReader MakeSpecReader() const;
  std::unique_ptr<RoundNetwork> MakeNetwork(const std::string& host) const;
  ValidationData ReadValidation() const;
  absl::Status OpenCheckpoints(const v1alpha1::TrainerConfigure& configure, Files& files,
                               const Clock& clock, Outbox& outbox);
  void Announce() const;
  void WarnOfSlowPrecision(const Clock& clock) const;

  PhaseTimer timer_;
  v1alpha1::TrainingJobSpec spec_;  // the spec by which everything below was opened
  ProcessDevice device_;
  int ranks_starting_ = 1;
  int64_t available_ = 0;  // bytes of the host's memory that were free before anything was opened
  // Estimates a rank's memory while so many ranks divide a copy of the state.
  std::function<absl::StatusOr<planner::MemoryEstimate>(int shards)> estimate_;
  // Estimates what the job could ask for instead; null where that is not known.
  std::function<absl::StatusOr<std::vector<MemoryOption>>()> options_;
  RunConfig config_;
  Dataset dataset_;
  int64_t vocabulary_ = 0;  // the model's
  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<BatchFeed> feed_;
  std::unique_ptr<DataDigester> data_;
  std::unique_ptr<InitialWeights> initial_;  // null: random ones
  std::unique_ptr<EventLog> events_;
  DirectoryStateFiles state_files_;
  std::unique_ptr<TrainingState> state_;
  std::unique_ptr<RoundNetwork> network_;
  std::unique_ptr<Files> store_;  // of the checkpoints; null: they lie in a directory
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<StateCopies> copies_;     // null: none in memory
  std::unique_ptr<KeptReplicas> replicas_;  // null: none in memory
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_TRAINER_PROCESS_H_
