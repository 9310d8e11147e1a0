#include "operator/coordinator/identity/peer_quota.h"

#include <algorithm>
#include <iterator>

namespace muster::control {

void PeerQuota::Fill(Bucket& bucket, double rate, double burst, absl::Time now) {
  if (bucket.at != absl::InfinitePast()) {
    const double seconds = absl::ToDoubleSeconds(now - bucket.at);
    bucket.left = std::min(burst, bucket.left + std::max(0.0, seconds) * rate);
  }
  bucket.at = now;
}

void PeerQuota::Forget(absl::Time now) {
  if (peers_.size() < forget_at_) return;
  for (auto it = peers_.begin(); it != peers_.end();) {
    Fill(it->second, limits_.peer_rate, limits_.peer_burst, now);
    it = it->second.left >= limits_.peer_burst ? peers_.erase(it) : std::next(it);
  }
  forget_at_ = std::max<size_t>(64, 2 * peers_.size());
}

bool PeerQuota::Take(const std::string& peer, absl::Time now) {
  Forget(now);
  if (peers_.size() >= kMaxPeers && !peers_.contains(peer)) return false;
  Bucket& mine = peers_.try_emplace(peer, Bucket{limits_.peer_burst}).first->second;
  Fill(mine, limits_.peer_rate, limits_.peer_burst, now);
  Fill(all_, limits_.rate, limits_.burst, now);
  if (mine.left < 1 || all_.left < 1) return false;
  mine.left -= 1;
  all_.left -= 1;
  return true;
}

}  // namespace muster::control
