#ifndef MUSTER_TRAINER_ENGINE_TESTING_TRAINER_FIXTURE_H_
#define MUSTER_TRAINER_ENGINE_TESTING_TRAINER_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/engine/testing/thread_rounds.h"

// Runs trainers on threads and gives them the orders that their agents would give.
namespace muster::trainer {

inline constexpr int64_t kSteps = 40;
inline constexpr char kHistory[] = "00000000000000aa";

inline TrainingOptions Options() {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  return options;
}

// Returns the spec of Options(), except for the parts that may change during a run.
inline v1alpha1::TrainingJobSpec Spec(int64_t steps, int batch, double learning_rate) {
  v1alpha1::TrainingJobSpec spec;
  v1alpha1::TrainSpec& train = *spec.mutable_trainer()->mutable_train();
  train.set_steps(steps);
  train.set_global_batch(batch);
  train.set_micro_batch(2);
  train.set_sequence(16);
  train.set_seed(42);
  train.set_deterministic(true);
  train.set_validate_every(0);
  spec.mutable_trainer()->mutable_optimizer()->set_schedule("constant");
  spec.mutable_trainer()->mutable_optimizer()->set_learning_rate(learning_rate);
  return spec;
}

inline v1alpha1::ResumePoint Fresh(int64_t attempt) {
  v1alpha1::ResumePoint resume;
  resume.set_source(v1alpha1::ResumePoint::FRESH);
  resume.set_next_attempt(attempt);
  resume.set_history(kHistory);
  return resume;
}

inline v1alpha1::ResumePoint FromCheckpoint(const v1alpha1::CheckpointRef& checkpoint,
                                            int64_t attempt) {
  v1alpha1::ResumePoint resume;
  resume.set_source(v1alpha1::ResumePoint::CHECKPOINT);
  *resume.mutable_checkpoint() = checkpoint;
  *resume.mutable_version() = checkpoint.version();
  resume.set_next_attempt(attempt);
  resume.set_history(checkpoint.history());
  return resume;
}

inline v1alpha1::ResumePoint Live(const v1alpha1::RankPosition& position, int64_t attempt) {
  v1alpha1::ResumePoint resume;
  resume.set_source(v1alpha1::ResumePoint::LIVE);
  *resume.mutable_version() = position.applied();
  resume.set_next_attempt(attempt);
  resume.set_history(position.history());
  return resume;
}

class TrainerTest : public ::testing::Test {
 protected:
  std::unique_ptr<ThreadTrainer> Start() {
    return std::make_unique<ThreadTrainer>(options_, settings_, rounds_, disk_, initial_);
  }
  // Prepares a round among `ranks` and returns their positions.
  std::vector<v1alpha1::RankPosition> Prepare(const std::vector<ThreadTrainer*>& ranks,
                                              const v1alpha1::TrainingJobSpec* spec = nullptr,
                                              const std::string& trajectory = "") {
    ++round_;
    const int world = static_cast<int>(ranks.size());
    for (int r = 0; r < world; ++r) ranks[r]->Prepare(round_, r, world, spec, trajectory);
    return AwaitReady(ranks);
  }
  static std::vector<v1alpha1::RankPosition> AwaitReady(const std::vector<ThreadTrainer*>& ranks) {
    std::vector<v1alpha1::RankPosition> positions;
    for (ThreadTrainer* rank : ranks) positions.push_back(rank->AwaitReady());
    return positions;
  }
  // Returns the bytes of the state that the rank holds.
  static int64_t BytesHeld(ThreadTrainer& rank) {
    int64_t held = 0;
    for (const NamedTensor& flat : rank.state().FlatTensors()) {
      held += static_cast<int64_t>(flat.tensor.nbytes());
    }
    return held;
  }
  // Returns the bytes that each rank read or received.
  std::vector<int64_t> Go(const std::vector<ThreadTrainer*>& ranks,
                          const v1alpha1::ResumePoint& resume, int shard = 1) {
    v1alpha1::Mesh mesh;
    mesh.set_data(static_cast<int>(ranks.size()) / shard / options_.parts);
    mesh.set_shard(shard);
    mesh.set_tensor(options_.parts);
    for (ThreadTrainer* rank : ranks) rank->Go(round_, resume, mesh);
    std::vector<int64_t> restored;
    for (ThreadTrainer* rank : ranks) {
      const v1alpha1::WorkerJoined joined = rank->AwaitJoined();
      EXPECT_EQ(joined.error(), "");
      EXPECT_EQ(joined.round().round(), round_);
      restored.push_back(joined.restored_bytes());
    }
    return restored;
  }
  // Returns the weights after an undisturbed run of one rank.
  std::vector<int64_t> Undisturbed() {
    const std::unique_ptr<ThreadTrainer> alone = Start();
    Prepare({alone.get()});
    Go({alone.get()}, Fresh(1));
    EXPECT_TRUE(alone->AwaitFinished().succeeded());
    alone->Kill();
    return WeightsOf(*alone);
  }
  // Returns the digest of the weights alone: a rank may hold only a part of the optimizer's state,
  // and the digest's last number covers the attempt, which differs between histories.
  static std::vector<int64_t> WeightsOf(ThreadTrainer& trainer) {
    std::vector<int64_t> digest = *trainer.state().Digest();
    digest.resize(trainer.state().units().size());
    return digest;
  }
  // Awaits that all ranks have trained to their end, with the weights of an undisturbed run.
  void ExpectUndisturbedWeights(const std::vector<ThreadTrainer*>& ranks) {
    for (ThreadTrainer* rank : ranks) {
      const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
      EXPECT_TRUE(finished.succeeded()) << finished.message();
      rank->Kill();
    }
    const std::vector<int64_t> want = Undisturbed();
    for (ThreadTrainer* rank : ranks) EXPECT_EQ(WeightsOf(*rank), want);
  }

  TrainingOptions options_ = Options();
  TrainerSettings settings_{.steps = kSteps, .validate_every = 20, .validate_batches = 2};
  ThreadNetwork::Rounds rounds_;
  MemoryCheckpoints::Disk disk_;
  InitialWeights* initial_ = nullptr;
  int64_t round_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_TRAINER_FIXTURE_H_
