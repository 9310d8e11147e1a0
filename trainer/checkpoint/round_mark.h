#ifndef MUSTER_TRAINER_CHECKPOINT_ROUND_MARK_H_
#define MUSTER_TRAINER_CHECKPOINT_ROUND_MARK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/files/files.h"

namespace muster::trainer {

// Proves that ranks on different machines share one checkpoint directory: one rank writes the mark
// of a new round to claim/round.json, and the others look for it. Different volumes that are only
// mounted at the same path fail this test.
struct RoundMark {
  std::string job_uid;
  int64_t term = 0;
  int64_t round = 0;
};

// Replaces the mark of an earlier round. NotFound if the directory is not claimed.
absl::Status WriteRoundMark(Files& files, const std::string& uri, const RoundMark& mark);

// Returns OK if the directory has this mark, NotFound if it has another or none. A network file
// system may show a mark some time after it was written.
absl::Status FindRoundMark(Files& files, const std::string& uri, const RoundMark& mark);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_ROUND_MARK_H_
