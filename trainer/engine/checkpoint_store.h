#ifndef MUSTER_TRAINER_ENGINE_CHECKPOINT_STORE_H_
#define MUSTER_TRAINER_ENGINE_CHECKPOINT_STORE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/engine/checkpoints.h"
#include "trainer/engine/link.h"

namespace muster::trainer {

// What a checkpoint says about the run, and a resume is checked against.
struct RunIdentity {
  std::string job;
  std::string job_uid;
  std::string tokenizer_json;  // empty without a tokenizer
  int64_t vocabulary = 0;
};

// Checkpoints in a directory that all ranks see: each rank saves its share of the tensors, by name
// and whole. Rank 0's writer reports to the agent. A writer runs on core `cpu` only, if one is
// given.
class CheckpointStore final : public Checkpoints {
 public:
  CheckpointStore(Files& files, const Clock& clock, std::string uri, int keep, RunIdentity identity,
                  Outbox& outbox, int cpu = -1);

  std::vector<v1alpha1::CheckpointRef> List() override;
  void Expect(const TrainingState& state, const SaveShare& share) override;
  absl::Status Save(const TrainingState& state, const SaveShare& share) override;
  bool WaitIdle(absl::Duration timeout) override;
  void Abandon() override { writer_.Abandon(); }
  absl::StatusOr<v1alpha1::Version> Load(const v1alpha1::CheckpointRef& checkpoint,
                                         TrainingState& state) override;

 private:
  absl::StatusOr<RunRecord> Record(const TrainingState& state, const SaveShare& share) const;

  Files& files_;
  const Clock& clock_;
  const std::string uri_;
  const RunIdentity identity_;
  std::atomic<bool> is_first_ = false;  // read by the writer's thread
  CheckpointWriter writer_;
};

// What deterministic mode fixes besides the spec, and a resume should find unchanged: the
// generator, threads, instruction set and library version.
Json DeterminismRecord(const TrainingOptions& options);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_CHECKPOINT_STORE_H_
