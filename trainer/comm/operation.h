#ifndef MUSTER_TRAINER_COMM_OPERATION_H_
#define MUSTER_TRAINER_COMM_OPERATION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"

#include "trainer/comm/communicator.h"

namespace muster::trainer {

enum class OperationKind {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAllV,
  kBroadcast,
  kSend,
  kRecv,
  kBarrier,
};
absl::string_view Name(OperationKind kind);

// Identifies an operation to the other ranks: equal on all ranks of a collective, and equal on both
// sides of a message except for its kind. `count` is in elements, `peer` is a root or the other
// rank.
struct Fingerprint {
  OperationKind kind = OperationKind::kBarrier;
  at::ScalarType type = at::kFloat;
  int64_t count = 0;
  ReduceOp op = ReduceOp::kSum;
  int peer = -1;
  std::string label;

  // Formats it for messages, e.g. `AllReduce sum 4096 Float "vote"`.
  std::string ToString() const;
  // Formats it equally on both sides of a message; `rank` is the side that calls.
  std::string AsMessage(int rank) const;
};

// Leaves out the counts of AllToAllV, which differ between ranks.
Fingerprint FingerprintOf(OperationKind kind, const at::Tensor& tensor, std::string_view label,
                          ReduceOp op = ReduceOp::kSum, int peer = -1);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_OPERATION_H_
