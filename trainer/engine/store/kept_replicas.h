#ifndef MUSTER_TRAINER_ENGINE_STORE_KEPT_REPLICAS_H_
#define MUSTER_TRAINER_ENGINE_STORE_KEPT_REPLICAS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/engine/store/copy_folder.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/parallel/slices.h"

namespace muster::trainer {

// The replicas of another rank's copies that this rank's agent keeps in memory. If that rank is
// lost with its worker, this rank reads the lost slice from a replica and sends it to the ranks of
// the next round. It also reads this rank's own copies where they are of a slice from before a
// round broke. Nothing is written to the agent's folders; an own copy that proves damaged is
// removed. Not thread-safe.
class KeptReplicas {
 public:
  // `files` must outlive it. `own_folder` has this rank's own copies. Copies of stages with
  // other chunks (ChunksOf) are not of use.
  KeptReplicas(Files& files, std::string job_uid, std::string own_folder, std::string chunks = {})
      : files_(files),
        job_uid_(std::move(job_uid)),
        own_folder_(std::move(own_folder)),
        chunks_(std::move(chunks)) {}

  // Call when a round is prepared.
  void SetFolders(std::vector<std::string> folders);
  // Adds the complete replicas to this rank's position: those of models that are divided alike.
  void AddTo(v1alpha1::RankPosition& position) const;
  // Returns the replica of that place, or this rank's own copy of it; the result must not outlive
  // this. NotFound if neither is kept. A copy that proves damaged or of another model when it is
  // read is not offered again; one that cannot be read for another reason is, until it has failed
  // three times.
  absl::StatusOr<std::unique_ptr<StoredSlice>> Open(const v1alpha1::Version& version,
                                                    const CopyPlace& place);
  // Returns the bytes that were read since the last SetFolders().
  int64_t bytes_read() const { return bytes_read_; }

 private:
  class Slice;
  void Refuse(const std::string& path, const absl::Status& why);

  Files& files_;
  const std::string job_uid_;
  const std::string own_folder_;
  const std::string chunks_;
  std::vector<std::string> folders_;
  FailedCopies failed_;
  int64_t bytes_read_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_KEPT_REPLICAS_H_
