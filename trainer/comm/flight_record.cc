#include "trainer/comm/flight_record.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::trainer {

int64_t FlightRecord::Issued(Fingerprint fingerprint) {
  MutexLock lock(mu_);
  const int64_t sequence = next_++;
  ring_[static_cast<size_t>(sequence % kCapacity)] = {sequence, std::move(fingerprint),
                                                      State::kInFlight};
  return sequence;
}

void FlightRecord::Completed(int64_t sequence) { Set(sequence, State::kDone); }
void FlightRecord::Failed(int64_t sequence) { Set(sequence, State::kFailed); }

void FlightRecord::Set(int64_t sequence, State state) {
  MutexLock lock(mu_);
  Entry& entry = ring_[static_cast<size_t>(sequence % kCapacity)];
  if (entry.sequence == sequence) entry.state = state;
}

std::string FlightRecord::Dump() const {
  MutexLock lock(mu_);
  std::string text;
  for (int64_t i = std::max<int64_t>(0, next_ - kCapacity); i < next_; ++i) {
    const Entry& entry = ring_[static_cast<size_t>(i % kCapacity)];
    const char* state = entry.state == State::kInFlight ? "in flight"
                        : entry.state == State::kDone   ? "done"
                                                        : "failed";
    absl::StrAppend(&text, "#", entry.sequence, " ", entry.fingerprint.ToString(), ": ", state,
                    "\n");
  }
  return text;
}

}  // namespace muster::trainer
