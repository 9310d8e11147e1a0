#ifndef MUSTER_TRAINER_ENGINE_STORE_CHECKPOINT_STORE_H_
#define MUSTER_TRAINER_ENGINE_STORE_CHECKPOINT_STORE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/mutex.h"
#include "trainer/checkpoint/claim.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/store/checkpoints.h"

namespace muster::trainer {

// Identifies a run in its checkpoints; a resume is checked against it.
struct RunIdentity {
  std::string job;
  std::string job_uid;
  std::string data_checksum;   // of the training tokens
  std::string tokenizer_json;  // empty without a tokenizer
  // The tokenizer's token between documents; absent without one.
  std::optional<uint32_t> end_of_text = std::nullopt;
  int64_t vocabulary = 0;
};

// Stores checkpoints in a directory that all ranks see. Each rank saves its share of the tensors: a
// tensor is divided among writers only if the ranks divide it. Rank 0's writer reports to the
// agent. If `cpu` is given, the writer's thread runs on that core only. A directory belongs to one
// job: see trainer/checkpoint/claim.h.
class CheckpointStore final : public Checkpoints {
 public:
  CheckpointStore(Files& files, const Clock& clock, std::string uri, int keep, RunIdentity identity,
                  Outbox& outbox, int cpu = -1);

  absl::Status Claim() override;
  absl::Status CheckWritable() override { return trainer::CheckWritable(files_, uri_); }
  absl::Status WriteMark(const v1alpha1::RoundId& round) override;
  absl::Status FindMark(const v1alpha1::RoundId& round) override;
  void SetKeep(int keep) override { writer_.SetKeep(keep); }
  Listing List(const TrainingState& state) override;
  absl::Status SetAside(const TrainingState& state, const v1alpha1::RoundId& round) override;
  std::optional<v1alpha1::Version> Durable() override;
  void Expect(const TrainingState& state, const CheckpointWriterId& writer) override;
  absl::Status Save(const TrainingState& state, const CheckpointWriterId& writer) override;
  void FinishCopy() override { writer_.FinishCopy(); }
  std::optional<SaveUnderway> Underway() override;
  bool WaitIdle(absl::Duration timeout) override;
  void Abandon() override { writer_.Abandon(); }
  absl::StatusOr<bool> Holds(const v1alpha1::CheckpointRef& checkpoint,
                             const TrainingState& state) override;
  absl::StatusOr<bool> TakeShard(const TrainingState& state,
                                 const v1alpha1::RoundId& round) override;
  bool IsComplete(const TrainingState& state, const v1alpha1::RoundId& round) override;
  absl::StatusOr<v1alpha1::Version> Load(const v1alpha1::CheckpointRef& checkpoint,
                                         TrainingState& state) override;

 private:
  absl::StatusOr<RunRecord> Record(const TrainingState& state,
                                   const CheckpointWriterId& writer) const;
  RunRecord RecordAfter(const TrainingState& state, const v1alpha1::RoundId& round) const;
  absl::StatusOr<std::string> Mismatch(const CheckpointListing& listing,
                                       const TrainingState& state);
  absl::Status CheckUsable(const Manifest& manifest, const TrainingState& state) const;
  absl::StatusOr<v1alpha1::Version> LoadFrom(const std::string& path, TrainingState& state);
  CheckpointWriter::Report ReportTo(Outbox& outbox);

  Files& files_;
  const Clock& clock_;
  const std::string uri_;
  const RunIdentity identity_;
  std::atomic<bool> is_first_ = false;  // read by the writer's thread
  // The reason that a checkpoint listed before cannot be loaded, by its name and round; empty if it
  // can. Such a checkpoint need not be opened again.
  std::map<std::string, std::string> mismatches_;
  Mutex mu_;
  std::optional<v1alpha1::Version> durable_ MUSTER_GUARDED_BY(mu_);
  CheckpointWriter writer_;
};

// Returns the settings that a resume in deterministic mode should find unchanged: the generator,
// threads, instruction set, library version and the size of a micro-batch.
Json DeterminismRecord(const TrainingOptions& options);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_CHECKPOINT_STORE_H_
