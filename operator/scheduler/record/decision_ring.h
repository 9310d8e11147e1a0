#ifndef MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RING_H_
#define MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RING_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "operator/queue/record/decision_record.h"

namespace muster::control {

struct DecisionRingOptions {
  // Bound on all files together. The oldest decisions make room; a decision larger than one file's
  // share is not kept.
  uint64_t max_bytes = uint64_t{256} << 20;
  int files = 8;
};

// The last decisions of the scheduler in a directory: files of framed records, each file named by
// the id of its first. Ids keep rising over restarts. Readers skip a record that a crash cut off;
// nothing is synced, for nothing depends on it. Not thread-safe; one process writes a directory.
class DecisionRing {
 public:
  // Never fails: a directory that cannot be read counts as empty.
  DecisionRing(Files& files, std::string directory, DecisionRingOptions options = {});

  uint64_t next_id() const { return next_id_; }
  // Keeps the record, whose id must be at least next_id(). After a failure the next record begins a
  // new file.
  absl::Status Add(uint64_t id, std::string_view record);

 private:
  struct Segment {
    std::string path;
    uint64_t bytes = 0;
  };

  absl::Status Begin(uint64_t id);
  void DropOldest(uint64_t room);

  Files& files_;
  const std::string directory_;
  const DecisionRingOptions options_;
  uint64_t next_id_ = 1;
  std::deque<Segment> segments_;  // oldest first
  std::unique_ptr<WritableFile> open_;
};

// Passes every whole record of the directory to `see`, oldest first, until it returns false.
absl::Status ReadDecisions(Files& files, const std::string& directory,
                           const std::function<bool(const absl::StatusOr<DecisionRecord>&)>& see);
// Finds a record in the one file that should hold it. kNotFound names the ids there, and the
// nearest.
absl::StatusOr<DecisionRecord> FindDecision(Files& files, const std::string& directory,
                                            uint64_t id);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RING_H_
