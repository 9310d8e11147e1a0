#ifndef MUSTER_TRAINER_COMM_FLIGHT_RECORD_H_
#define MUSTER_TRAINER_COMM_FLIGHT_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "trainer/comm/operation.h"

namespace muster::trainer {

// Keeps the last operations of one rank in a ring, numbered from 0. When a round breaks off,
// comparing the ranks' records shows which rank was behind, and at which operation. Thread-safe.
class FlightRecord {
 public:
  static constexpr int kCapacity = 64;

  // Returns the operation's sequence number.
  int64_t Issued(Fingerprint fingerprint);
  void Completed(int64_t sequence);
  void Failed(int64_t sequence);

  // Returns one line per operation, oldest first.
  std::string Dump() const;

 private:
  enum class State { kInFlight, kDone, kFailed };
  struct Entry {
    int64_t sequence = -1;
    Fingerprint fingerprint;
    State state = State::kInFlight;
  };
  void Set(int64_t sequence, State state);

  mutable Mutex mu_;
  std::vector<Entry> ring_ MUSTER_GUARDED_BY(mu_) = std::vector<Entry>(kCapacity);
  int64_t next_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_FLIGHT_RECORD_H_
