#ifndef MUSTER_TRAINER_COMM_ROUND_STORE_H_
#define MUSTER_TRAINER_COMM_ROUND_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace muster::trainer {

// The key-value store through which the ranks of a round find each other's addresses. A thread of
// this process (rank 0's) serves it on a free port until it is destroyed. It is needed only while
// communicators connect. It replaces TCPStore, which asks the name server for the names of
// addresses; that takes seconds where none answers. Thread-safe.
class RoundStore {
 public:
  virtual ~RoundStore() = default;
  // Returns host:port, as other ranks reach it.
  virtual const std::string& endpoint() const = 0;
};

// Listens on `host` only, the address of this machine that the other ranks use.
absl::StatusOr<std::unique_ptr<RoundStore>> StartRoundStore(const std::string& host = "127.0.0.1");

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_ROUND_STORE_H_
