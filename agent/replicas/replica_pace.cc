#include "agent/replicas/replica_pace.h"

#include <algorithm>

namespace muster::agent {
namespace {

constexpr size_t kIntervals = 3;
constexpr double kShareOfInterval = 0.5;
// A stream is stuck if it has not ended after so many intervals, nor at such a rate.
constexpr int kMostIntervals = 3;
constexpr double kLeastBytesPerSecond = 10e6;
constexpr absl::Duration kLeastDeadline = absl::Seconds(10);

}  // namespace

void ReplicaPace::NoteCopy(int local_rank, absl::Time now) {
  if (local_rank != 0) return;
  copies_.push_back(now);
  if (copies_.size() > kIntervals + 1) copies_.pop_front();
}

absl::Duration ReplicaPace::Interval() const {
  absl::Duration shortest = absl::InfiniteDuration();
  for (size_t i = 1; i < copies_.size(); ++i) {
    shortest = std::min(shortest, copies_[i] - copies_[i - 1]);
  }
  return shortest == absl::InfiniteDuration() ? absl::ZeroDuration() : shortest;
}

absl::Time ReplicaPace::NextPart(absl::Time begun, int64_t sent, int64_t total) const {
  if (total <= 0) return begun;
  const double share = std::min(1.0, static_cast<double>(sent) / static_cast<double>(total));
  return begun + share * kShareOfInterval / ranks_ * Interval();
}

absl::Duration ReplicaPace::Deadline(int64_t bytes) const {
  const absl::Duration slow = absl::Seconds(static_cast<double>(bytes) / kLeastBytesPerSecond);
  return std::max({kLeastDeadline, kMostIntervals * Interval(), slow});
}

}  // namespace muster::agent
