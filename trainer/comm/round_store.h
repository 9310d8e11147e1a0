#ifndef MUSTER_TRAINER_COMM_ROUND_STORE_H_
#define MUSTER_TRAINER_COMM_ROUND_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::trainer {

// The key-value store through which the ranks of a round find each other's addresses. A thread of
// this process (rank 0's) serves it on a free port until it is destroyed. It is needed only while
// communicators connect. It replaces TCPStore, which asks the name server for the names of
// addresses; that takes seconds where none answers. Only who knows the round's secret is served,
// and on the loopback interface only this user. Thread-safe.
class RoundStore {
 public:
  virtual ~RoundStore() = default;
  // Returns host:port, as other ranks reach it.
  virtual const std::string& endpoint() const = 0;
};

// Bounds on a store. Strangers are connections that have not proved that they know the
// secret: beyond their number the oldest is closed, and each one after `proof`.
struct StoreLimits {
  size_t strangers = 256;
  absl::Duration proof = absl::Seconds(10);
  size_t members = 1 << 16;
  size_t keys = 1 << 20;
  size_t bytes = size_t{1} << 30;  // of all keys and values
};

// Listens on `host` only, the address of this machine that the other ranks use.
absl::StatusOr<std::unique_ptr<RoundStore>> StartRoundStore(const std::string& host = "127.0.0.1",
                                                            std::string secret = "",
                                                            const StoreLimits& limits = {});

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_ROUND_STORE_H_
