#ifndef MUSTER_TRAINER_ENGINE_STORE_COPY_FOLDER_H_
#define MUSTER_TRAINER_ENGINE_STORE_COPY_FOLDER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/files/files.h"
#include "base/json.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/stages.h"

namespace muster::trainer {

// A folder of copies of one rank's part of the state: its own, or the replicas of another's. Each
// is a checkpoint directory of one writer (state_copies.h).

// Returns the complete copies in `folder` of the job with this uid, of stages with such chunks
// (ChunksOf), newest first. Returns none if the folder cannot be read.
std::vector<v1alpha1::StateCopy> ListCopies(Files& files, const std::string& folder,
                                            const std::string& job_uid, const std::string& chunks);

// The copies that could not be loaded. A copy is good until its bytes prove to be others: one that
// cannot be read now, for want of memory, say, is offered again a few times, and stays where it is.
class FailedCopies {
 public:
  // Notes that the copy at `path` could not be loaded. Removes it if it is damaged, which is
  // DataLoss alone, and if `owned`: it is in a folder of this rank's own.
  void Note(Files& files, const std::string& path, const absl::Status& why, bool owned);
  // Call when the copy has been loaded or made anew.
  void Forget(const std::string& path) { failures_.erase(path); }
  // Returns true if a round may choose the copy.
  bool IsOffered(const std::string& path) const;

 private:
  std::map<std::string, int> failures_;  // by path
};

// Returns what stages of the cut have besides their number, such as "2 in turn"; empty if each has
// one run of blocks. The same stage has other blocks if this differs.
std::string ChunksOf(const StageCut& cut);

// The record's layout of a copy: the place of the rank that it is of, in a model whose stages have
// such chunks. PlaceOfCopy returns nothing if the record does not say, or has others.
Json LayoutOfCopy(const CopyPlace& place, const std::string& chunks);
std::optional<CopyPlace> PlaceOfCopy(const RunRecord& run, const std::string& chunks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_COPY_FOLDER_H_
