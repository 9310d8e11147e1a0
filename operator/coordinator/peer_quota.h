#ifndef MUSTER_OPERATOR_COORDINATOR_PEER_QUOTA_H_
#define MUSTER_OPERATOR_COORDINATOR_PEER_QUOTA_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace muster::control {

// How often those who have not proven who they are may cause work, one by one and all together:
// `rate` a second, after a burst.
struct QuotaLimits {
  double peer_rate = 0;
  double peer_burst = 0;
  double rate = 0;
  double burst = 0;
};

// Token buckets by peer, and one over all. Peers whose bucket has filled up again are forgotten; of
// the others at most kMaxPeers are known, and no new one is let in then. Monotonic times. A value;
// pure.
class PeerQuota {
 public:
  static constexpr size_t kMaxPeers = 65536;

  explicit PeerQuota(const QuotaLimits& limits) : limits_(limits), all_{limits.burst} {}

  // False: not now. What one peer is refused costs the others nothing.
  bool Take(const std::string& peer, absl::Time now);
  size_t peers() const { return peers_.size(); }

 private:
  struct Bucket {
    double left = 0;
    absl::Time at = absl::InfinitePast();
  };
  static void Fill(Bucket& bucket, double rate, double burst, absl::Time now);
  void Forget(absl::Time now);

  QuotaLimits limits_;
  Bucket all_;
  std::map<std::string, Bucket> peers_;
  size_t forget_at_ = 64;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_PEER_QUOTA_H_
