#ifndef MUSTER_OPERATOR_COORDINATOR_PROGRESS_SLOWEST_RANK_H_
#define MUSTER_OPERATOR_COORDINATOR_PROGRESS_SLOWEST_RANK_H_

#include <cstdint>
#include <map>
#include <optional>

#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {

// The rank that was the busiest in most of the steps of some minutes.
struct SlowestRank {
  int64_t round = 0;
  int rank = 0;
  int64_t steps = 0;  // that were counted
  double share = 0;   // of them, those in which it was the busiest: (0, 1]
  double factor = 1;  // the time of the busiest rank of a step, in times of the mean; >= 1
  double busy = 0;    // the part of the window's time in which the ranks were busy, in the mean
};

// Counts which rank makes the others wait, over windows of five minutes of one round. Not
// thread-safe.
class SlowestRankCounter {
 public:
  static constexpr int64_t kWindowUs = int64_t{5} * 60 * 1'000'000;

  // `step` must be of `round`; a step of a later round begins anew.
  void Add(int64_t round, const v1alpha1::StepReport& step);
  // Returns the outcome of the last whole window of the newest round; nothing before there is one,
  // or if ranks do not say how long they were busy.
  const std::optional<SlowestRank>& last() const { return last_; }

 private:
  void EndWindow(int64_t end_us);

  int64_t round_ = 0;
  int64_t since_us_ = 0;  // 0: no step of this window yet
  int64_t steps_ = 0;
  std::map<int, int64_t> slowest_;  // rank -> steps in which it was
  double mean_ = 0, longest_ = 0;
  std::optional<SlowestRank> last_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_PROGRESS_SLOWEST_RANK_H_
