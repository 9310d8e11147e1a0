#ifndef MUSTER_TRAINER_CHECKPOINT_WRITER_H_
#define MUSTER_TRAINER_CHECKPOINT_WRITER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/claim.h"
#include "trainer/checkpoint/host_buffer.h"
#include "trainer/checkpoint/pieces.h"
#include "trainer/checkpoint/snapshot.h"

namespace muster::trainer {

struct WriterOptions {
  std::string uri;  // directory of all checkpoints
  // The job that the checkpoints belong to; without it no claim is made or checked.
  std::optional<ClaimOwner> owner = std::nullopt;
  int keep = 2;  // complete ones to keep, at least 2
  // If false, older checkpoints are left to the caller, and `keep` has no effect.
  bool prune = true;
  // Writer 0 waits for the others' shares for this much longer than CollectTime() says.
  absl::Duration collect_margin = absl::Minutes(2);
  uint64_t piece_bytes = kPieceBytes;  // of slices, in the manifest
  int cpu = -1;                        // the thread runs on this core only; -1: anywhere
  bool start_thread = true;
};

// Returns the time that a writer may take for a share of `largest` bytes if another one took `took`
// for its own of `bytes`: several times as long per byte, and at least several times as long as a
// fast store takes.
absl::Duration CollectTime(uint64_t largest, uint64_t bytes, absl::Duration took);

// Saves snapshots in the background: a thread of low priority copies them, writes
// `step-%09d.r<round>/`, and writer 0 completes it when all shares are in: manifest, DONE (created
// exclusively), syncs, rename to `step-%09d`, or in an object store as layout.h says. Then it
// deletes all but the `keep` newest. A failure leaves no partial directory behind and is only
// reported: training goes on and a later snapshot tries again.
//
// Thread-safe. `report` is called from the thread: STARTED, then WRITTEN or FAILED; writers other
// than 0 report WRITTEN when their share is durable.
class CheckpointWriter {
 public:
  using Report = std::function<void(const v1alpha1::CheckpointReport&)>;

  CheckpointWriter(Files& files, const Clock& clock, WriterOptions options, Report report);
  // Finishes the snapshot that was begun, but does not wait for other writers.
  ~CheckpointWriter();

  // Announces a snapshot of `bytes`, so that the thread prepares the memory for its copy in
  // advance, as far as there is time.
  void Expect(size_t bytes);
  // Begins to save. The tensors' memory must not change or be freed until FinishCopy() has
  // returned, or the writer is idle. Unavailable while an earlier snapshot is still being written;
  // an earlier snapshot of an older round that only waits for other writers is given up instead.
  // ResourceExhausted if there is no memory for the copy.
  absl::Status Begin(const Snapshot& snapshot);
  // Helps to copy the snapshot that was begun, and returns when it is copied.
  void FinishCopy();
  // Takes effect with the next checkpoint that is completed.
  void SetKeep(int keep) { keep_ = keep; }
  // Returns true if a snapshot is being copied or written.
  bool busy() const;
  // The snapshot that is being written, or that waits for other writers; underway() returns nullopt
  // without one.
  struct Underway {
    int64_t step = 0;
    absl::Time begun;  // monotonic
  };
  std::optional<Underway> underway() const;
  // Waits until not busy(); DeadlineExceeded after `deadline` (monotonic).
  absl::Status WaitIdle(absl::Time deadline);
  // Call when a round has ended. A snapshot that only waits for other writers is completed if all
  // shares are there, else given up.
  void Abandon();

  // Does one piece of work: writes this writer's share, looks once for the others', or prepares
  // some memory. Returns false if there was nothing to do, or no progress.
  bool RunOnce();

 private:
  struct Job;
  enum class Progress { kMoved, kWaiting, kDone };

  absl::Status PlanCopy(const Snapshot& snapshot, Job& job) const;
  Progress Advance(Job& job);
  Progress LastLook(Job& job);
  absl::Status WriteShare(Job& job);
  absl::Status WriteGroup(Job& job, TensorGroup group);
  absl::StatusOr<bool> Collect(Job& job);
  absl::Status Complete(Job& job);
  void Finish(Job& job, const absl::Status& status);
  void SendReport(const Job& job, v1alpha1::CheckpointReport::Phase phase,
                  const std::string& error) const;
  static uint64_t TotalBytes(const Job& job);
  bool PopulateSome();
  void Loop();

  Files& files_;
  const Clock& clock_;
  const WriterOptions options_;
  const Report report_;
  std::atomic<int> keep_;

  mutable Mutex mu_;
  CondVar changed_;
  std::unique_ptr<Job> job_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Job>> given_up_ MUSTER_GUARDED_BY(mu_);
  bool running_ MUSTER_GUARDED_BY(mu_) = false;  // the job is in the thread's hands
  bool abandon_ MUSTER_GUARDED_BY(mu_) = false;
  bool stop_ MUSTER_GUARDED_BY(mu_) = false;
  HostBuffer buffer_ MUSTER_GUARDED_BY(mu_);   // reused: only a first copy may fault pages
  size_t unready_ MUSTER_GUARDED_BY(mu_) = 0;  // bytes that buffer_ must still be made ready for
  bool populating_ MUSTER_GUARDED_BY(mu_) = false;  // the thread has buffer_
  std::thread thread_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_WRITER_H_
