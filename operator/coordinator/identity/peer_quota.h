#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_QUOTA_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_QUOTA_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace muster::control {

// Limits the requests of peers without a certificate, for each peer and for all together: `rate`
// tokens a second, and at most `burst` at once.
struct QuotaLimits {
  double peer_rate = 0;
  double peer_burst = 0;
  double rate = 0;
  double burst = 0;
};

// One token bucket for each peer, and one for all together. A peer is forgotten once its bucket is
// full again. While kMaxPeers peers are remembered, requests of other peers are refused. Times are
// Monotonic. A value; pure.
class PeerQuota {
 public:
  static constexpr size_t kMaxPeers = 65536;

  explicit PeerQuota(const QuotaLimits& limits) : limits_(limits), all_{limits.burst} {}

  // Takes a token for one request. Returns false if the peer's bucket or the common one is empty. A
  // refused request takes no token, so it costs other peers nothing.
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

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_QUOTA_H_
