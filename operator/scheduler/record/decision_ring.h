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
#include "base/files.h"
#include "operator/queue/record/decision_record.h"

namespace muster::control {

struct DecisionRingOptions {
  // Of all files together. The oldest decisions make room; one that is larger than a file's part
  // of it is not kept.
  uint64_t max_bytes = uint64_t{256} << 20;
  int files = 8;
};

// The last decisions of the scheduler in a directory: files of framed records, each file named by
// the id of its first. Ids go up over restarts. What a crash cut off is left out when it is read;
// nothing is synced, for nothing depends on it. Not thread-safe; one process writes a directory.
class DecisionRing {
 public:
  // Never fails: a directory that cannot be read is taken for an empty one.
  DecisionRing(Files& files, std::string directory, DecisionRingOptions options = {});

  uint64_t next_id() const { return next_id_; }
  // Keeps the record, whose id must be at least next_id(). After a failure the next one begins a
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

// Every whole record of the directory, oldest first, until `see` says false.
absl::Status ReadDecisions(Files& files, const std::string& directory,
                           const std::function<bool(const absl::StatusOr<DecisionRecord>&)>& see);
// Of one file alone. kNotFound names the ids that are there, and the nearest.
absl::StatusOr<DecisionRecord> FindDecision(Files& files, const std::string& directory,
                                            uint64_t id);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RING_H_
