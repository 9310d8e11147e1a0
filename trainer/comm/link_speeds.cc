#include "trainer/comm/link_speeds.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ATen/ops/full.h"
#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/failpoint.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

constexpr int64_t kProbeBytes = 64 << 10;
constexpr int64_t kMostBytes = 4 << 20;
constexpr int kTries = 3;
// The time that one try takes on a link that is too slow for the whole payload.
constexpr double kTrySeconds = 0.15;
constexpr char kLabel[] = "link test";

// One side of the exchange between two ranks.
class Side {
 public:
  Side(Communicator& group, int peer, c10::Device device, const Clock& clock)
      : group_(group), peer_(peer), device_(device), clock_(clock) {}

  // Begins the exchange; returns the bytes per second.
  absl::StatusOr<double> Measure() {
    MUSTER_RETURN_IF_ERROR(Round(kProbeBytes).status());  // connects, and waits for the peer
    MUSTER_ASSIGN_OR_RETURN(double best, Round(kProbeBytes));
    const int64_t bytes =
        std::clamp(static_cast<int64_t>(best * kTrySeconds / 2), kProbeBytes, kMostBytes);
    at::Tensor size = at::full({1}, bytes, at::TensorOptions().dtype(at::kLong).device(device_));
    MUSTER_RETURN_IF_ERROR(group_.Send(size, peer_, kLabel)->Wait());
    for (int i = 0; i < kTries; ++i) {
      MUSTER_ASSIGN_OR_RETURN(const double speed, Round(bytes));
      best = std::max(best, speed);
    }
    return best;
  }

  // Answers the rank that begins.
  absl::Status Answer() {
    MUSTER_RETURN_IF_ERROR(Reflect(kProbeBytes));
    MUSTER_RETURN_IF_ERROR(Reflect(kProbeBytes));
    at::Tensor size = at::zeros({1}, at::TensorOptions().dtype(at::kLong).device(device_));
    MUSTER_RETURN_IF_ERROR(group_.Recv(size, peer_, kLabel)->Wait());
    const int64_t bytes = size.item<int64_t>();
    if (bytes < kProbeBytes || bytes > kMostBytes) {
      return absl::InternalError(absl::StrCat("rank ", peer_, " sends ", bytes, " bytes"));
    }
    for (int i = 0; i < kTries; ++i) MUSTER_RETURN_IF_ERROR(Reflect(bytes));
    return absl::OkStatus();
  }

 private:
  at::Tensor Payload(int64_t bytes) const {
    return at::zeros({bytes}, at::TensorOptions().dtype(at::kByte).device(device_));
  }

  // Sends the bytes and gets them back; returns the bytes per second both ways together.
  absl::StatusOr<double> Round(int64_t bytes) {
    const at::Tensor payload = Payload(bytes);
    const absl::Time begun = clock_.Monotonic();
    MUSTER_FAILPOINT("trainer.link_test");
    MUSTER_RETURN_IF_ERROR(group_.Send(payload, peer_, kLabel)->Wait());
    MUSTER_RETURN_IF_ERROR(group_.Recv(payload, peer_, kLabel)->Wait());
    (void)payload[bytes - 1].item<uint8_t>();  // it is there once a device says so
    const double seconds = absl::ToDoubleSeconds(clock_.Monotonic() - begun);
    return 2 * static_cast<double>(bytes) / std::max(seconds, 1e-9);
  }

  absl::Status Reflect(int64_t bytes) {
    const at::Tensor payload = Payload(bytes);
    MUSTER_RETURN_IF_ERROR(group_.Recv(payload, peer_, kLabel)->Wait());
    MUSTER_FAILPOINT("trainer.link_test");
    return group_.Send(payload, peer_, kLabel)->Wait();
  }

  Communicator& group_;
  const int peer_;
  const c10::Device device_;
  const Clock& clock_;
};

absl::Status CheckRanks(const std::vector<int>& ranks, int size) {
  int last = -1;
  for (const int rank : ranks) {
    if (rank <= last || rank >= size) {
      return absl::InvalidArgumentError(absl::StrCat("the link test names rank ", rank,
                                                     " after rank ", last, ", of ", size,
                                                     " ranks; it must name ascending ranks"));
    }
    last = rank;
  }
  return absl::OkStatus();
}

int TurnsOf(int places) {
  int turns = 2;
  for (int reached = 1; reached < places; reached *= 2) ++turns;
  return std::min(turns, places - 1);
}

}  // namespace

std::vector<std::vector<int>> TournamentTurns(int players) {
  std::vector<std::vector<int>> turns;
  if (players < 2) return turns;
  const int places = players + players % 2;  // the last is empty if their number is odd
  const int circle = places - 1;
  const int wanted = TurnsOf(places);
  for (int turn = 0; turn < wanted; ++turn) {
    const int shift = static_cast<int>(static_cast<int64_t>(turn) * circle / wanted);
    std::vector<int> partner(players, -1);
    for (int player = 0; player < players; ++player) {
      // On the circle those whose sum is `shift` meet, and who would meet itself meets the last.
      int other = player == circle ? -1 : ((shift - player) % circle + circle) % circle;
      if (player == circle) {
        for (other = 0; (2 * other - shift) % circle != 0;) ++other;
      } else if (other == player) {
        other = circle;
      }
      if (other < players) partner[player] = other;
    }
    turns.push_back(std::move(partner));
  }
  return turns;
}

absl::StatusOr<std::vector<LinkSpeed>> MeasureLinks(const std::vector<int>& ranks,
                                                    c10::Device device, Communicator& group,
                                                    const Clock& clock) {
  MUSTER_RETURN_IF_ERROR(CheckRanks(ranks, group.size()));
  std::vector<LinkSpeed> links;
  const auto me = std::find(ranks.begin(), ranks.end(), group.rank());
  if (me == ranks.end()) return links;
  for (const std::vector<int>& partner : TournamentTurns(static_cast<int>(ranks.size()))) {
    const int other = partner[me - ranks.begin()];
    if (other == -1) continue;
    Side side(group, ranks[other], device, clock);
    if (ranks[other] < group.rank()) {
      MUSTER_RETURN_IF_ERROR(side.Answer());
      continue;
    }
    MUSTER_ASSIGN_OR_RETURN(const double speed, side.Measure());
    links.push_back({group.rank(), ranks[other], speed});
  }
  return links;
}

}  // namespace muster::trainer
