#ifndef MUSTER_AGENT_REPLICAS_DISK_KEEPER_H_
#define MUSTER_AGENT_REPLICAS_DISK_KEEPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/replicas/copies_watch.h"
#include "agent/replicas/disk_store.h"
#include "agent/replicas/replica_fetch.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/net/wake_fd.h"

namespace muster::agent {

// Keeps copies of the worker's ranks on the disk of its node when ordered to, and offers the copies
// that are on that disk. Writes in a thread of its own, so that training does not wait for a slow
// disk. A copy that cannot be kept is skipped; training goes on. Thread-safe.
class DiskKeeper {
 public:
  struct Options {
    DiskStore::Options store;
    std::string memory;  // the folder of the copies in memory, below which each rank has one
  };

  // All must outlive it. `on_change` is called, without a lock, once the disk has been read, and
  // when Workers() has changed. Fails if the copies in memory cannot be watched.
  static absl::StatusOr<std::unique_ptr<DiskKeeper>> Start(Options options, Files& disk,
                                                           Files& memory, const Clock& clock,
                                                           std::function<void()> on_change);
  ~DiskKeeper();
  // Cancels what is under way, in whichever thread, and keeps nothing from now on.
  void Stop();

  // Keeps the next copy of each rank at `step` or later, besides those of earlier calls. Agents
  // that get the same calls thus keep copies of the same steps, whenever the calls arrive.
  void KeepFrom(int64_t step);
  // Call when the job has ended. Its copies on the node, also those of other workers, are removed
  // when this object is destroyed.
  void RemoveAtEnd();

  // Returns the indices of the workers whose copies it has; nullopt before the disk has been read.
  std::optional<std::vector<int>> Workers() const;
  std::vector<DiskStore::Replica> Of(int index) const { return store_.Of(index); }
  // Copies what the disk has of worker `index` into memory, as copies of this worker's ranks, until
  // `deadline`. Blocks for as long as the disk takes.
  FetchedCopies TakeIntoMemory(int index, absl::Time deadline);

 private:
  DiskKeeper(Options options, CopiesWatch watch, Files& disk, Files& memory, const Clock& clock,
             std::function<void()> on_change);
  void Run();
  void Look();
  void Wait();
  void TakeOrders();
  void KeepWanted();
  std::optional<CompletedCopy> FirstFrom(int local_rank, int64_t step) const;
  void Keep(const CompletedCopy& copy);
  void NoteWorkers();
  absl::Status CheckGoesOn();

  const Options options_;
  Files& disk_;
  Files& memory_;
  const Clock& clock_;
  const std::function<void()> on_change_;
  const WakeFd wake_;
  DiskStore store_;
  // Only the thread touches these three.
  CopiesWatch watch_;
  bool works_ = false;                       // the folder can be written
  std::map<int, std::set<int64_t>> wanted_;  // the least steps of copies, by local rank

  mutable Mutex mu_;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  bool removes_ MUSTER_GUARDED_BY(mu_) = false;  // at its end
  std::vector<int64_t> orders_ MUSTER_GUARDED_BY(mu_);
  std::optional<std::vector<int>> workers_ MUSTER_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_DISK_KEEPER_H_
