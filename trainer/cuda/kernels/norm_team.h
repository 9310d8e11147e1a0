#ifndef MUSTER_TRAINER_CUDA_KERNELS_NORM_TEAM_H_
#define MUSTER_TRAINER_CUDA_KERNELS_NORM_TEAM_H_

// How the kernels of norms share out rows among threads.

#include <cstdint>
#include <initializer_list>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {

// The most blocks whose shares in the gradients of gain and bias are added.
inline constexpr int64_t kMostShares = 528;

// The threads of a block where each block has a row.
inline constexpr int kRowThreads = 256;

// A team of so many threads keeps a row in its registers: each thread has so many packs of it.
template <int kTeamThreads, int kPacksOfThread>
struct Team {
  static constexpr int kTeam = kTeamThreads;
  static constexpr int kPacks = kPacksOfThread;
  static constexpr int kThreads = kTeam < 128 ? 128 : kTeam;
  static constexpr int kTeams = kThreads / kTeam;  // of a block
  static constexpr int kWidest = kTeam * kPacks * kPack;
  using Packs = float[kPacks][kPack];

  // As many blocks as an H100 holds at a time with the registers that the gradient needs. It is no
  // other on other cards, so that the order of additions depends on none.
  static constexpr int64_t kShares = 132 * (kPacks <= 4 ? 4 : kPacks <= 6 ? 3 : 2) * 128 / kThreads;
  static_assert(kShares <= kMostShares);

  // Calls body(p, i) for each pack p of this thread, whose elements begin at i.
  template <typename Body>
  static MUSTER_DEVICE void ForEachPack(const Thread& thread, int64_t width, const Body& body) {
    const int lane = thread.index() % kTeam;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int i = (p * kTeam + lane) * kPack;
      if (i < width) body(p, i);
    }
  }

  // As BlockSum, over the threads of a team.
  static MUSTER_DEVICE float Sum(const Thread& thread, float value,
                                 float (&scratch)[kThreads / kWarp]) {
    if constexpr (kTeam > kWarp) {
      return BlockSum<kThreads>(thread, value, scratch);
    } else {
      return WarpSum(thread, value);
    }
  }

  // Adds what the teams of a block have of a row, one team after the other.
  static MUSTER_DEVICE void AddTeams(const Thread& thread, int64_t width, const Packs& mine,
                                     float* sums) {
    for (int team = 0; team < kTeams; ++team) {
      if (thread.index() / kTeam == team) {
        ForEachPack(thread, width, [&](int p, int i) {
          for (int k = 0; k < kPack; ++k) {
            sums[i + k] = mine[p][k] + (team > 0 ? sums[i + k] : 0.0f);
          }
        });
      }
      thread.Sync();
    }
  }
};

inline constexpr int64_t kWidestOfTeams = Team<512, 4>::kWidest;

// Whether teams compute in these types: a narrow stream with a wide result is too rare for it.
template <typename X, typename Y>
constexpr bool kHasTeams = sizeof(X) >= sizeof(Y);

// Calls `body` with the smallest team that can hold a row, which is at most kWidestOfTeams wide.
template <typename Body>
LaunchResult WithTeam(int64_t width, const Body& body) {
  if (width <= Team<32, 4>::kWidest) return body(Team<32, 4>());
  if (width <= Team<32, 6>::kWidest) return body(Team<32, 6>());
  if (width <= Team<32, 8>::kWidest) return body(Team<32, 8>());
  if (width <= Team<128, 4>::kWidest) return body(Team<128, 4>());
  if (width <= Team<256, 4>::kWidest) return body(Team<256, 4>());
  return body(Team<512, 4>());
}

// Calls `body` with null pointers of the two types.
template <typename Body>
LaunchResult WithTypes(Element stream, Element result, const Body& body) {
  return WithElement(
      stream, [&](auto* x) { return WithElement(result, [&](auto* y) { return body(x, y); }); });
}

template <typename X, typename Y, typename Norm>
bool IsPacked(const Norm& norm, std::initializer_list<const void*> stream,
              std::initializer_list<const void*> result) {
  return norm.width % kPack == 0 && ArePacked<X>(stream) && ArePacked<Y>(result) &&
         ArePacked<float>({norm.gain});
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_NORM_TEAM_H_
