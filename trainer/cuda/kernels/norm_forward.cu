#include <cstdint>

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"
#include "trainer/cuda/kernels/norm.h"
#include "trainer/cuda/kernels/norm_team.h"

namespace muster::trainer::cuda {
namespace {

// A team for each row, which is read from memory once.
template <typename X, typename Y, typename T>
struct TeamForward {
  static constexpr int kThreads = T::kThreads;
  struct Shared {
    float sums[kThreads / kWarp];
    float squares[kThreads / kWarp];
  };

  NormForward norm;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int64_t row = thread.block() * T::kTeams + thread.index() / T::kTeam;
    if (row >= norm.rows) return;
    const auto width = static_cast<float>(norm.width);
    typename T::Packs v = {};
    const float total = LoadSum(thread, row * norm.width, v);
    const float mean = norm.centered ? T::Sum(thread, total, shared.sums) / width : 0.0f;
    float squares = 0;
    T::ForEachPack(thread, norm.width, [&](int p, int) {
      for (int k = 0; k < kPack; ++k) squares += (v[p][k] - mean) * (v[p][k] - mean);
    });
    const float square = T::Sum(thread, squares, shared.squares) / width;
    const float scale = 1.0f / sqrtf(square + norm.epsilon);
    if (thread.index() % T::kTeam == 0) {
      if (norm.centered) norm.mean[row] = mean;
      norm.scale[row] = scale;
    }
    Y* const y = static_cast<Y*>(norm.y) + row * norm.width;
    T::ForEachPack(thread, norm.width, [&](int p, int i) {
      float gain[kPack], bias[kPack] = {};
      Load(norm.gain + i, gain);
      if (norm.bias) Load(norm.bias + i, bias);
      for (int k = 0; k < kPack; ++k) v[p][k] = (v[p][k] - mean) * scale * gain[k] + bias[k];
      Store(v[p], y + i);
    });
  }

  // Loads this thread's packs of x + branch, writes them if there is a branch, and returns their
  // sum.
  MUSTER_DEVICE float LoadSum(const Thread& thread, int64_t begin, typename T::Packs& v) const {
    float total = 0;
    T::ForEachPack(thread, norm.width, [&](int p, int i) {
      Load(static_cast<const X*>(norm.x) + begin + i, v[p]);
      if (norm.branch) {
        float b[kPack];
        Load(static_cast<const Y*>(norm.branch) + begin + i, b);
        for (int k = 0; k < kPack; ++k) v[p][k] = ToFloat(FromFloat<X>(v[p][k] + b[k]));
        Store(v[p], static_cast<X*>(norm.sum) + begin + i);
      }
      for (int k = 0; k < kPack; ++k) total += v[p][k];
    });
    return total;
  }
};

// One block per row of any width and address. The row is read from memory once, and from the cache
// after that.
template <typename X, typename Y>
struct Forward {
  static constexpr int kThreads = kRowThreads;
  struct Shared {
    float sums[kThreads / kWarp];
    float squares[kThreads / kWarp];
  };

  NormForward norm;
  bool packed;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int64_t begin = thread.block() * norm.width;
    const auto width = static_cast<float>(norm.width);
    const float total = AddBranch(thread, begin);
    const X* const values =
        (norm.branch ? static_cast<const X*>(norm.sum) : static_cast<const X*>(norm.x)) + begin;
    const float mean =
        norm.centered ? BlockSum<kThreads>(thread, total, shared.sums) / width : 0.0f;
    float squares = 0;
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float v[n];
      Load(values + i, v);
      for (int k = 0; k < n; ++k) squares += (v[k] - mean) * (v[k] - mean);
    });
    const float square = BlockSum<kThreads>(thread, squares, shared.squares) / width;
    const float scale = 1.0f / sqrtf(square + norm.epsilon);
    if (thread.index() == 0) {
      if (norm.centered) norm.mean[thread.block()] = mean;
      norm.scale[thread.block()] = scale;
    }
    Y* const y = static_cast<Y*>(norm.y) + begin;
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float v[n], gain[n], bias[n] = {};
      Load(values + i, v);
      Load(norm.gain + i, gain);
      if (norm.bias) Load(norm.bias + i, bias);
      for (int k = 0; k < n; ++k) v[k] = (v[k] - mean) * scale * gain[k] + bias[k];
      Store(v, y + i);
    });
  }

  // Writes this thread's share of x + branch, and returns the sum of what is to be normalized.
  MUSTER_DEVICE float AddBranch(const Thread& thread, int64_t begin) const {
    float total = 0;
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float v[n];
      Load(static_cast<const X*>(norm.x) + begin + i, v);
      if (norm.branch) {
        float b[n];
        Load(static_cast<const Y*>(norm.branch) + begin + i, b);
        for (int k = 0; k < n; ++k) v[k] = ToFloat(FromFloat<X>(v[k] + b[k]));
        Store(v, static_cast<X*>(norm.sum) + begin + i);
      }
      for (int k = 0; k < n; ++k) total += v[k];
    });
    return total;
  }
};

}  // namespace

LaunchResult LaunchNormForward(const NormForward& norm, Stream stream) {
  return WithTypes(norm.stream, norm.result, [&]<typename X, typename Y>(X*, Y*) {
    const bool packed = IsPacked<X, Y>(norm, {norm.x, norm.sum}, {norm.branch, norm.y}) &&
                        ArePacked<float>({norm.bias});
    if constexpr (kHasTeams<X, Y>) {
      if (packed && norm.width <= kWidestOfTeams) {
        return WithTeam(norm.width, [&]<typename T>(T) {
          return Launch(TeamForward<X, Y, T>{norm}, (norm.rows + T::kTeams - 1) / T::kTeams,
                        stream);
        });
      }
    }
    return Launch(Forward<X, Y>{norm, packed}, norm.rows, stream);
  });
}

}  // namespace muster::trainer::cuda
