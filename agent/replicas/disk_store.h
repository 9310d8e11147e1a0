#ifndef MUSTER_AGENT_REPLICAS_DISK_STORE_H_
#define MUSTER_AGENT_REPLICAS_DISK_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/replicas/replica_store.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::agent {

// The copies on the disk of a node, which its agents share and which outlive them:
//
//   FOLDER/muster-copies-JOBUID/worker-N/rank-M/step-000001000
//   FOLDER/muster-copies-JOBUID/USED      when a copy was last kept, RFC 3339
//
// Each agent writes only below its own worker's folder, and keeps the two newest copies of a rank:
// while the newest one is still being written somewhere, the one before is what all workers have. A
// copy appears whole and durable. The folder of a job that ends with success is removed, and so are
// folders of other jobs that were not used for a week; nothing else of other jobs is touched.
// Thread-safe, apart from Keep(), which one thread calls.
class DiskStore {
 public:
  using Replica = ReplicaStore::Replica;
  struct Options {
    std::string folder;  // checkpoint.memory.disk.path
    v1alpha1::WorkerId worker;
    int ranks = 1;
  };
  using Check = absl::FunctionRef<absl::Status()>;

  // `disk` writes there, `memory` reads the ranks' copies; both and `clock` must outlive it.
  DiskStore(Options options, Files& disk, Files& memory, const Clock& clock);

  // Call first. Removes the half-written copies of a killed agent, and folders of other jobs that
  // are no longer used. Fails as the file system does.
  absl::Status Open();
  // Keeps the copy that is in the directory `path` of memory. ResourceExhausted if the disk is
  // full; Aborted if the rank has removed the copy meanwhile. `check` as in TransferCopy().
  absl::Status Keep(const std::string& path, int local_rank, Check check);

  // Call when the job has ended: removes its folder, with the copies of all workers.
  void RemoveJob();

  // Returns the whole copies of the worker, the newest of each rank first.
  std::vector<Replica> Of(int index) const;
  // Returns the indices of the workers whose copies it has.
  std::vector<int> Workers() const;

 private:
  std::string FolderOf(int index) const;
  std::string FolderOf(int index, int local_rank) const;
  std::vector<CheckpointListing> WholeIn(const std::string& folder) const;
  absl::Status NoteUse();
  void RemoveUnusedJobs();
  void RemoveOld(int local_rank);

  const Options options_;
  const std::string job_folder_;
  Files& disk_;
  Files& memory_;
  const Clock& clock_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_DISK_STORE_H_
